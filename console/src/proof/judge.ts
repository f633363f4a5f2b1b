// What a proof of the server's comes to, checked here: not with the server's word, but with the log's keys.
import { leafHash, leafOf, Malformed, type RecordKind, TlogProof, VerifierKey } from "@watchbell/sdk/proof";

export interface LogKeys {
  origin: string;
  keys: { verifier: string }[];
}

/** Who says to have seen the checkpoint; whether that is so, only their key can tell. */
export interface Cosigner {
  name: string;
  at: string;
}

export type Judged =
  /** The record is in a checkpoint that the log signed. */
  | { is: "in_log"; index: number; size: number; cosigners: Cosigner[]; proof: string }
  /** What is stored does not match what the log committed to, or the log's signature is not its. */
  | { is: "contradicted"; why: string; proof: string };

/** `stored` is what the log commits to, byte for byte. */
export function judge(kind: RecordKind, stored: string, proof: string, log: LogKeys): Judged {
  try {
    const read = TlogProof.parse(proof);
    const leaf = leafOf(kind, stored, read.extra ?? new Uint8Array());
    const keys = log.keys.map(({ verifier }) => VerifierKey.parse(verifier));
    const { index, size } = read.verify(leafHash(leaf), log.origin, keys);
    const cosigners = cosignersOf(read, log.origin);
    return { is: "in_log", index: Number(index), size: Number(size), cosigners, proof };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { is: "contradicted", why: error.message, proof };
  }
}

/** A cosignature has a time in front of its 64 bytes (C2SP tlog-cosignature). */
const TIME_BYTES = 8;
const COSIGNATURE_BYTES = TIME_BYTES + 64;

function cosignersOf({ checkpoint }: TlogProof, origin: string): Cosigner[] {
  const others = checkpoint.note.signatures.filter(
    ({ name, data }) => name !== origin && data.length === COSIGNATURE_BYTES,
  );
  return others.map(({ name, data }) => {
    const seconds = new DataView(data.buffer, data.byteOffset, TIME_BYTES).getBigUint64(0);
    const at = new Date(Number(seconds) * 1_000);
    return { name, at: Number.isNaN(at.getTime()) ? "" : at.toISOString() };
  });
}
