// Signed notes: a text, an empty line, and one line for each signature (C2SP signed-note).
import { verify } from "./ed25519.js";
import { fromBase64, toHex, utf8 } from "./encoding.js";
import { hasControlCharacters, isName, type VerifierKey, WITNESS } from "./keys.js";
import { Malformed } from "./malformed.js";

/** As much as Go's reader accepts. */
const NOTE_BYTES_MAX = 1_000_000;
const SIGNATURES_MAX = 100;
const KEY_ID_BYTES = 4;
const TIME_BYTES = 8;
const TIMESTAMP_MAX = 2n ** 63n - 1n;

/** A key whose signature was verified. */
export interface Signed {
  key: VerifierKey;
  /** When a witness signed, in seconds since 1970; the latest, if it signed more than once. */
  timestamp?: bigint;
}

/** One line below a note: who claims to have signed, and the signature. */
export interface Signature {
  name: string;
  keyId: string;
  data: Uint8Array;
}

/** A text and its signatures. Nothing is verified until {@link Note.verify} says so. */
export class Note {
  private constructor(
    /** What is signed, including its last newline. */
    readonly text: string,
    readonly signatures: Signature[],
  ) {}

  static parse(note: string): Note {
    if (utf8(note).length > NOTE_BYTES_MAX || hasControlCharacters(note)) {
      throw new Malformed("note_malformed", "the note is too long, or has a control character");
    }
    // The text may have empty lines; the last one is where the signatures start.
    const end = note.lastIndexOf("\n\n");
    const lines = note.slice(end + 2).split("\n");
    if (end < 0 || lines.pop() !== "" || lines.length === 0 || lines.length > SIGNATURES_MAX) {
      throw new Malformed("note_malformed", "the note has no text, or not 1 to 100 signatures");
    }
    return new Note(note.slice(0, end + 1), lines.map(signatureOf));
  }

  /** Who of `keys` signed; an error if nobody did. */
  verify(keys: VerifierKey[]): Signed[] {
    const signed = this.signedBy(keys);
    if (signed.length === 0) throw new Malformed("not_signed", "none of the given keys signed this");
    return signed;
  }

  /** Who of `keys` signed, each once. One wrong signature by a known key refuses the note, however many others match. */
  signedBy(keys: VerifierKey[]): Signed[] {
    const signed: Signed[] = [];
    for (const signature of this.signatures) {
      const key = keys.find(({ name, id }) => name === signature.name && id === signature.keyId);
      if (key === undefined) continue;
      const timestamp = verified(signature, key, this.text);
      const earlier = signed.find((one) => one.key === key);
      if (earlier === undefined) signed.push({ key, timestamp });
      else if (timestamp !== undefined && timestamp > (earlier.timestamp ?? 0n))
        earlier.timestamp = timestamp;
    }
    return signed;
  }
}

function signatureOf(line: string): Signature {
  const [, name = "", encoded = ""] = /^— ([^ ]*) (.*)$/s.exec(line) ?? [];
  const data = fromBase64(encoded);
  if (!isName(name) || data === undefined || data.length <= KEY_ID_BYTES) {
    throw new Malformed("note_malformed", "a line of the note is no signature: — <name> <base64>");
  }
  return { name, keyId: toHex(data.subarray(0, KEY_ID_BYTES)), data: data.subarray(KEY_ID_BYTES) };
}

/** Returns the time in a cosignature. */
function verified({ data }: Signature, key: VerifierKey, text: string): bigint | undefined {
  const isCosignature = key.type === WITNESS;
  const timestamp = isCosignature && data.length >= TIME_BYTES ? timeIn(data) : undefined;
  if (timestamp !== undefined && timestamp > TIMESTAMP_MAX) {
    throw new Malformed("timestamp_out_of_range", "a cosignature's time must be below 2^63");
  }
  const message = isCosignature ? `cosignature/v1\ntime ${timestamp}\n${text}` : text;
  if (!verify(key.publicKey, utf8(message), isCosignature ? data.subarray(TIME_BYTES) : data)) {
    const why = `the signature of ${key.name} does not match: the text was changed, or somebody else signed it`;
    throw new Malformed("signature_mismatch", why);
  }
  return timestamp;
}

function timeIn(data: Uint8Array): bigint {
  return new DataView(data.buffer, data.byteOffset, TIME_BYTES).getBigUint64(0);
}
