// Verifies deliveries with Web Crypto: in Node, workers and browsers. Imports nothing of Node's.
import {
  bytesOf,
  type Delivery,
  examine,
  keyFor,
  type Question,
  type Received,
  type Scheme,
  serviceMessage,
  standardMessage,
  type VerifyOptions,
} from "./delivery.js";
import { type Bytes, toBase64, toHex } from "./digest.js";
import { Refused } from "./refused.js";

export type { Delivery, Received, Scheme, VerifyOptions, Webhook } from "./delivery.js";
export { Refused, type RefusedCode } from "./refused.js";

/**
 * Verifies that a delivery is authentic and recent, or throws {@link Refused}.
 *
 * A `Request` is read; of anything else pass the headers and the raw body.
 */
export async function verifyWebhook(
  received: Request | Received,
  options: VerifyOptions = {},
): Promise<Delivery> {
  const { headers } = received;
  const body = received instanceof Request ? await received.arrayBuffer() : received.body;
  const question = examine({ headers, body }, options);
  if (!(await holds(question))) throw new Refused("signature_mismatch");
  return question.delivery;
}

export interface SignOptions {
  secret: string;
  /** The value of the timestamp header: RFC 3339, or whole seconds since 1970 for `standard`. */
  timestamp: string;
  body: Received["body"];
  /** `service` unless given. */
  scheme?: Scheme;
  /** For `standard`: the value of `webhook-id`. */
  id?: string;
}

/** The value of the signature header, for tests of a receiver. */
export async function signWebhook({
  secret,
  timestamp,
  body,
  scheme,
  id = "",
}: SignOptions): Promise<string> {
  const secretKey = keyFor(scheme)(secret);
  if (secretKey === undefined) throw new TypeError("this is not a signing secret of that scheme");
  const isStandard = scheme === "standard";
  const bytes = bytesOf(body);
  const message = isStandard ? standardMessage(id, timestamp, bytes) : serviceMessage(timestamp, bytes);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", await hmacKey(secretKey, "sign"), message));
  return isStandard ? toBase64(digest) : toHex(digest);
}

/** Asks the platform, which compares in constant time, about every pair: no early exit. */
async function holds({ message, keys, digests }: Question): Promise<boolean> {
  const verified = await Promise.all(
    keys.map(async (bytes) => {
      const key = await hmacKey(bytes, "verify");
      return Promise.all(digests.map((digest) => crypto.subtle.verify("HMAC", key, digest, message)));
    }),
  );
  return verified.flat().includes(true);
}

function hmacKey(bytes: Bytes, usage: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}
