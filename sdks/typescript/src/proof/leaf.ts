// One leaf of the log: 66 bytes that name a record and commit to what was stored of it.
//
// | bytes | what |
// |---|---|
// | 1 | version of this layout: 1 |
// | 1 | kind: 1 an event, 2 an attempt to deliver an alert |
// | 16 | its id, as the bytes of a UUID |
// | 8 | when it happened, in milliseconds since 1970, big-endian |
// | 8 | when it was received or over, likewise |
// | 32 | SHA-256 of the salt and the stored bytes |
import { sha256 } from "./hash.js";
import { ATTEMPT, decodeId, EVENT, RECORD_BYTES } from "./ids.js";
import { Malformed } from "./malformed.js";
import { Members } from "./members.js";
import { unixMs } from "./time.js";

export const LEAF_BYTES = 66;
export const SALT_BYTES = 16;
const VERSION = 1;
const TIMES_START = 1 + RECORD_BYTES;
const COMMITMENT_START = 34;

export type RecordKind = "event" | "attempt";

/** Which members of a record the leaf's two times are. */
export const TIMES = {
  event: ["occurred_at", "received_at"],
  attempt: ["started_at", "finished_at"],
} as const;

export function isSupported(leaf: Uint8Array): boolean {
  return leaf[0] === VERSION && (leaf[1] === EVENT || leaf[1] === ATTEMPT);
}

/** Kind and id. */
export function recordOf(leaf: Uint8Array): Uint8Array {
  return leaf.subarray(1, TIMES_START);
}

/** What the leaf says the record's first (0) or second (1) time is. No time that can be written is beyond 2^53. */
export function timeOf(leaf: Uint8Array, which: 0 | 1): number {
  const view = new DataView(leaf.buffer, leaf.byteOffset, leaf.length);
  const start = TIMES_START + 8 * which;
  return view.getInt32(start) * 2 ** 32 + view.getUint32(start + 4);
}

/** Space for salt and stored bytes, for as long as a file is read: hashing a million of them would make a million. */
export class Committing {
  #bytes = new Uint8Array(64 * 1024);
  readonly #encoder = new TextEncoder();

  /** The hash of what was stored, with its salt. */
  hash(salt: Uint8Array, stored: string): Uint8Array {
    // A character has at most three bytes for each of its UTF-16 units.
    const longest = salt.length + 3 * stored.length;
    if (this.#bytes.length < longest) this.#bytes = new Uint8Array(longest);
    this.#bytes.set(salt);
    const { written } = this.#encoder.encodeInto(stored, this.#bytes.subarray(salt.length));
    return sha256(this.#bytes.subarray(0, salt.length + written));
  }

  isTo(leaf: Uint8Array, salt: Uint8Array, stored: string): boolean {
    const hash = this.hash(salt, stored);
    for (let at = 0; at < hash.length; at += 1) {
      if (hash[at] !== leaf[COMMITMENT_START + at]) return false;
    }
    return true;
  }
}

/**
 * The leaf of a record, from its stored bytes and the salt in its proof. Throws {@link Malformed} if they have no id or times.
 */
export function leafOf(kind: RecordKind, stored: string, salt: Uint8Array): Uint8Array {
  const members = new Members(stored);
  const record = decodeId(members.text("id"));
  const [occurredMs, receivedMs] = TIMES[kind].map((name) => unixMs(members.text(name)));
  const expected = kind === "event" ? EVENT : ATTEMPT;
  if (record?.[0] !== expected || occurredMs === undefined || receivedMs === undefined) {
    throw new Malformed(
      "record_malformed",
      `this is not the record of an ${kind}: its id or times cannot be read`,
    );
  }
  const leaf = new Uint8Array(LEAF_BYTES);
  leaf[0] = VERSION;
  leaf.set(record, 1);
  const view = new DataView(leaf.buffer);
  view.setBigInt64(TIMES_START, BigInt(occurredMs));
  view.setBigInt64(TIMES_START + 8, BigInt(receivedMs));
  leaf.set(new Committing().hash(salt, stored), COMMITMENT_START);
  return leaf;
}
