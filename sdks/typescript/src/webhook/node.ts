// Verifies deliveries with node:crypto, without waiting.
import { createHmac, timingSafeEqual } from "node:crypto";
import { type Delivery, examine, type Received, type VerifyOptions } from "./delivery.js";
import { Refused } from "./refused.js";

export type { Delivery, Received, Scheme, VerifyOptions, Webhook } from "./delivery.js";
export { Refused, type RefusedCode } from "./refused.js";

/** Verifies that a delivery is authentic and recent, or throws {@link Refused}. */
export function verifyWebhookNode(received: Received, options: VerifyOptions = {}): Delivery {
  const { message, keys, digests, delivery } = examine(received, options);
  let isAuthentic = false;
  for (const key of keys) {
    const expected = createHmac("sha256", key).update(message).digest();
    // No early exit: how long this takes must not tell which secret or signature matched.
    for (const digest of digests) isAuthentic = timingSafeEqual(expected, digest) || isAuthentic;
  }
  if (!isAuthentic) throw new Refused("signature_mismatch");
  return delivery;
}
