// A delivery as it was received: everything about verifying it but the HMAC itself, which the platforms do differently.
import type { components } from "../schema.js";
import { signingSecret } from "../settings.js";
import { type Bytes, digestFromBase64, digestFromHex, keyFromWhsec } from "./digest.js";
import { Refused } from "./refused.js";
import { checkWindow, parseRfc3339, parseUnixSeconds } from "./timestamp.js";

/** The body of a delivery. */
export type Webhook = components["schemas"]["Webhook"];

/** Which headers are verified: the `X-Service-…` of every delivery, or those of Standard Webhooks. */
export type Scheme = "service" | "standard";

/** A request as most servers hand it over. The body is what arrived, before anything parsed it. */
export interface Received {
  headers: Headers | Record<string, string | string[] | undefined>;
  body: string | Uint8Array | ArrayBuffer;
}

export interface VerifyOptions {
  /** Every secret that may have signed. Unless given, `WATCHBELL_SIGNING_SECRET` where there is an environment. */
  secrets?: string | readonly string[] | undefined;
  /** The receiver's clock, for tests. Milliseconds since 1970, if a number. */
  now?: Date | number | undefined;
  /** `service` unless given. `standard` needs a secret of the form `whsec_<base64>`. */
  scheme?: Scheme | undefined;
}

/**
 * A delivery whose signature was verified. It is of the timestamp and the body, and with `standard` of the id. Who has seen a
 * delivery can send it again, until it is 300 s old, with other headers than these.
 */
export interface Delivery {
  /** The same for every attempt: process it once. Signed with `standard` only; the event's own id is always signed. */
  id: string | undefined;
  /** Counts the attempts, from 1. Not signed. */
  attempt: number | undefined;
  /** Why it was sent: `match`, `summary`, `test`, `retry`, `resend` or `recover`. Not signed. */
  trigger: string | undefined;
  /** The type of the event, to route by. From the body, so it is signed. */
  readonly eventType: string | undefined;
  /** The body as it was signed. */
  text: string;
  /** The body, parsed. */
  json(): Webhook;
}

/** What is left to be found out: whether one of the digests is the HMAC of the message with one of the keys. */
export interface Question {
  message: Bytes;
  keys: Bytes[];
  digests: Bytes[];
  delivery: Delivery;
}

/** Checks everything that needs no key, in the order that all libraries keep to. */
export function examine(received: Received, options: VerifyOptions): Question {
  const secrets = secretsOf(options);
  const header = lookUp(received.headers);
  const body = bytesOf(received.body);
  const now = options.now ?? Date.now();
  const isStandard = options.scheme === "standard";
  const asked = isStandard ? standard(header, body, now) : service(header, body, now);
  const delivery: Delivery = {
    id: header(isStandard ? "webhook-id" : "x-service-delivery-id"),
    attempt: Number(header("x-service-attempt")) || undefined,
    trigger: header("x-service-trigger"),
    get eventType() {
      return eventTypeIn(this.text);
    },
    text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(body),
    json() {
      return JSON.parse(this.text);
    },
  };
  const keys = secrets.map(keyFor(options.scheme)).filter((key) => key !== undefined);
  return { ...asked, keys, delivery };
}

/** The type of the event in a body; none if the body is not one of ours. */
function eventTypeIn(text: string): string | undefined {
  try {
    const type: unknown = JSON.parse(text).event.event_type;
    return typeof type === "string" ? type : undefined;
  } catch {
    return undefined;
  }
}

/** The key that a secret is; none if it cannot be one. */
export function keyFor(scheme: Scheme | undefined): (secret: string) => Bytes | undefined {
  if (scheme === "standard") return keyFromWhsec;
  // Everybody knows the empty secret, and it is usually a setting that was forgotten.
  return (secret) => (secret === "" ? undefined : encode(secret));
}

export function serviceMessage(timestamp: string, body: Bytes): Bytes {
  return concat(encode(`${timestamp}.`), body);
}

export function standardMessage(id: string, timestamp: string, body: Bytes): Bytes {
  return concat(encode(`${id}.${timestamp}.`), body);
}

type Lookup = (name: string) => string | undefined;
type Signed = Pick<Question, "message" | "digests">;

/** More than one while a secret is rotated, at the sender first or at the receiver first. */
const SERVICE_SIGNATURES = [
  "x-service-signature",
  "x-service-signature-previous",
  "x-service-signature-next",
];

function service(header: Lookup, body: Bytes, now: Date | number): Signed {
  const timestamp = header("x-service-timestamp");
  if (timestamp === undefined) throw new Refused("timestamp_missing");
  checkWindow(parseRfc3339(timestamp), now);
  const signatures = SERVICE_SIGNATURES.map(header).filter((value) => value !== undefined);
  if (signatures.length === 0) throw new Refused("signature_missing");
  if (!isUtf8(body)) throw new Refused("body_not_utf8");
  const digests = signatures.map(digestFromHex).filter((digest) => digest !== undefined);
  return { message: serviceMessage(timestamp, body), digests };
}

function standard(header: Lookup, body: Bytes, now: Date | number): Signed {
  const timestamp = header("webhook-timestamp");
  if (timestamp === undefined) throw new Refused("timestamp_missing");
  checkWindow(parseUnixSeconds(timestamp), now);
  const id = header("webhook-id");
  if (!id || id.includes(".")) throw new Refused("id_unusable");
  const signatures = header("webhook-signature");
  if (signatures === undefined) throw new Refused("signature_missing");
  const digests = signatures
    .split(" ")
    .map(digestFromBase64)
    .filter((digest) => digest !== undefined);
  return { message: standardMessage(id, timestamp, body), digests };
}

function secretsOf({ secrets = signingSecret() }: VerifyOptions): readonly string[] {
  if (secrets === undefined) {
    throw new TypeError("no signing secret: pass `secrets`, or set WATCHBELL_SIGNING_SECRET");
  }
  return typeof secrets === "string" ? [secrets] : secrets;
}

function lookUp(headers: Received["headers"]): Lookup {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const lowercase = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = lowercase.get(name);
    // One that came twice is not what was sent.
    return Array.isArray(value) ? value.join(", ") : value;
  };
}

export function bytesOf(body: Received["body"]): Bytes {
  if (typeof body === "string") return encode(body);
  if (body instanceof Uint8Array) return new Uint8Array(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("verify the raw body, as text or bytes: one that was parsed is not what was signed");
}

function isUtf8(bytes: Bytes): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function encode(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function concat(head: Bytes, tail: Bytes): Bytes {
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
