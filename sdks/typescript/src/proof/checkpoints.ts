// Checkpoints: what a log says its tree is, and signs (C2SP tlog-checkpoint).
import { fromBase64 } from "./encoding.js";
import { hasControlCharacters, type VerifierKey } from "./keys.js";
import { Malformed } from "./malformed.js";
import { Note, type Signed } from "./notes.js";
import { HASH_BYTES, SIZE_MAX } from "./tree.js";

const malformed = (why: string) => new Malformed("checkpoint_malformed", why);

/** Which log, how many leaves, and their root. */
export class Checkpoint {
  private constructor(
    readonly origin: string,
    readonly size: bigint,
    readonly root: Uint8Array,
    /** Lines below the root, whatever the log means by them. */
    readonly extensions: string[],
  ) {}

  static parse(text: string): Checkpoint {
    const lines = text.split("\n");
    const isWhole = lines.pop() === "" && !lines.includes("") && !hasControlCharacters(text);
    const [origin, number, root, ...extensions] = lines;
    if (!isWhole || origin === undefined || number === undefined || root === undefined) {
      throw malformed("the checkpoint has not three lines or more, each with something in it");
    }
    const size = decimal(number);
    if (size === undefined) throw malformed("the checkpoint's size is not a number");
    const hash = fromBase64(root);
    if (hash?.length !== HASH_BYTES) throw malformed("the checkpoint's root is not a hash in base64");
    return new Checkpoint(origin, size, hash, extensions);
  }
}

/** A number as C2SP writes it: ASCII digits, no sign, no leading zero. */
export function decimal(text: string): bigint | undefined {
  const number = /^(0|[1-9][0-9]{0,18})$/.test(text) ? BigInt(text) : undefined;
  return number !== undefined && number <= SIZE_MAX ? number : undefined;
}

/** A checkpoint with its signatures. What it says is a claim until `note.verify` says who signed. */
export class SignedCheckpoint {
  private constructor(
    readonly claimed: Checkpoint,
    readonly note: Note,
  ) {}

  static parse(text: string): SignedCheckpoint {
    const note = Note.parse(text);
    return new SignedCheckpoint(Checkpoint.parse(note.text), note);
  }

  /** Who of `witnesses` cosigned, and when. One that is given under two names counts once. */
  cosignedBy(witnesses: VerifierKey[]): Required<Signed>[] {
    const cosigned: Required<Signed>[] = [];
    for (const { key, timestamp } of this.note.signedBy(witnesses)) {
      const isCounted = cosigned.some((one) => `${one.key.publicKey}` === `${key.publicKey}`);
      if (timestamp !== undefined && !isCounted) cosigned.push({ key, timestamp });
    }
    return cosigned;
  }
}
