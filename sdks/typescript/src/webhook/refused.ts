// Why a delivery was refused, and what its receiver answers.

/** A stable name for logs and metrics, the same in every language's library. */
export type RefusedCode =
  | "timestamp_missing"
  | "timestamp_unparseable"
  | "timestamp_outside_window"
  | "id_unusable"
  | "signature_missing"
  | "body_not_utf8"
  | "signature_mismatch";

/** For the developer of the receiver: what to look at. The sender needs only the status. */
const HINTS: Record<RefusedCode, string> = {
  timestamp_missing:
    "the delivery has no timestamp: check that no proxy in front of the receiver removes X-Service-Timestamp " +
    "(webhook-timestamp for Standard Webhooks)",
  timestamp_unparseable: "the timestamp cannot be read: pass the header unchanged",
  timestamp_outside_window:
    "the delivery was signed more than 300 s from this machine's time: check its clock; if it is right, this is " +
    "an old request sent again",
  id_unusable: "webhook-id is missing, empty or contains a full stop: pass the header unchanged",
  signature_missing:
    "the delivery has no signature: check that a signing secret is configured in Watchbell, and that no proxy " +
    "removes X-Service-Signature (webhook-signature for Standard Webhooks)",
  body_not_utf8:
    "the body is not UTF-8: check that nothing unpacks, converts or cuts it before it is verified",
  signature_mismatch:
    "the signature does not match: check the secret, and that the body is verified as received, not parsed and " +
    "written again",
};

/** A delivery that must not be processed. Answer with its `status`. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** 400 if the time is at fault, 401 otherwise. */
  readonly status: 400 | 401;

  constructor(readonly code: RefusedCode) {
    super(HINTS[code]);
    this.status = code.startsWith("timestamp_") ? 400 : 401;
  }
}
