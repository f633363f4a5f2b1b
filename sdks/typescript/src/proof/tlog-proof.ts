// The proof of one record, to be kept and verified offline (C2SP tlog-proof): where it is, and in what signed tree.
import { decimal, SignedCheckpoint } from "./checkpoints.js";
import { fromBase64 } from "./encoding.js";
import type { VerifierKey } from "./keys.js";
import { Malformed } from "./malformed.js";
import type { Signed } from "./notes.js";
import { HASH_BYTES, verifyInclusion } from "./tree.js";

const FIRST_LINE = "c2sp.org/tlog-proof@v1";
const HASHES_MAX = 63;
const EXTRA_BYTES_MAX = 65_535;

const malformed = (why: string) => new Malformed("proof_malformed", `the proof cannot be read: ${why}`);

/** What a proof proves. */
export interface Proven {
  /** Where the record is in the log, from 0. */
  index: bigint;
  /** How many entries the log had. */
  size: bigint;
  /** The witnesses that cosigned, out of those that were given. How many are enough, you decide. */
  cosigned: Required<Signed>[];
}

/** A proof of inclusion with its checkpoint. Nothing is verified until {@link TlogProof.verify} says so. */
export class TlogProof {
  private constructor(
    readonly index: bigint,
    /** From the leaf's sibling up to the root's child. */
    readonly hashes: Uint8Array[],
    readonly checkpoint: SignedCheckpoint,
    /** Data for whoever verifies: here, the salt. Nothing vouches for it. */
    readonly extra: Uint8Array | undefined,
  ) {}

  static parse(text: string): TlogProof {
    const end = text.indexOf("\n\n");
    const [first, ...lines] = text.slice(0, Math.max(end, 0)).split("\n");
    if (first !== FIRST_LINE) throw malformed(`it does not start with ${FIRST_LINE} and end its hashes`);
    const extra = lines[0]?.startsWith("extra ") ? extraOf(lines.shift() ?? "") : undefined;
    const index = /^index (.*)$/s.exec(lines.shift() ?? "")?.[1];
    const number = decimal(index ?? "");
    if (number === undefined) throw malformed("a line is not: index <number>");
    if (lines.length > HASHES_MAX) throw malformed("it has more than 63 hashes");
    return new TlogProof(number, lines.map(hashOf), SignedCheckpoint.parse(text.slice(end + 2)), extra);
  }

  /**
   * Accepts that the log `origin`, which signed the tree with one of `keys`, has the leaf with this hash; and counts which of
   * `witnesses` saw that tree. Anything else throws {@link Malformed}.
   */
  verify(leaf: Uint8Array, origin: string, keys: VerifierKey[], witnesses: VerifierKey[] = []): Proven {
    const { claimed, note } = this.checkpoint;
    if (claimed.origin !== origin) {
      const why = `the checkpoint belongs to the log ${claimed.origin}, not to ${origin}`;
      throw new Malformed("origin_mismatch", why);
    }
    note.verify(keys);
    const cosigned = this.checkpoint.cosignedBy(witnesses);
    verifyInclusion(leaf, this.index, claimed.size, claimed.root, this.hashes);
    return { index: this.index, size: claimed.size, cosigned };
  }
}

function hashOf(line: string): Uint8Array {
  const hash = fromBase64(line);
  if (hash?.length !== HASH_BYTES) throw malformed("a line is not a hash in base64");
  return hash;
}

function extraOf(line: string): Uint8Array {
  const extra = fromBase64(line.slice("extra ".length));
  if (extra === undefined) throw malformed("its extra data is not base64");
  if (extra.length === 0 || extra.length > EXTRA_BYTES_MAX) {
    throw malformed("its extra data is empty or too long");
  }
  return extra;
}
