// Public keys with their names (C2SP signed-note), as `<name>+<id>+<key>`.

import { isPublicKey } from "./ed25519.js";
import { fromBase64, joined, toBase64, toHex, utf8 } from "./encoding.js";
import { sha256 } from "./hash.js";
import { Malformed } from "./malformed.js";

/** Signature types: Ed25519 of a note's text, and of a checkpoint and a time (C2SP tlog-cosignature). */
export const LOG = 1;
export const WITNESS = 4;

/** C2SP gives the names of cosigners one byte for their length. */
const NAME_BYTES_MAX = 255;

export class VerifierKey {
  private constructor(
    readonly name: string,
    /** The first four bytes of a hash of name and key, in hexadecimal. It identifies; it does not prove. */
    readonly id: string,
    /** 1 for a log, 4 for a witness. */
    readonly type: number,
    readonly publicKey: Uint8Array,
  ) {}

  static parse(vkey: string): VerifierKey {
    const [, name = "", id = "", key = ""] = /^([^+]*)\+([^+]*)\+(.*)$/s.exec(vkey) ?? [];
    const data = fromBase64(key);
    if (data?.[0] === undefined) throw new Malformed("key_malformed", "the key is not <name>+<id>+<key>");
    const [type] = data;
    if (type !== LOG && type !== WITNESS) {
      const why = `keys of signature type ${type} are not supported: only Ed25519`;
      throw new Malformed("key_unsupported", why);
    }
    const expected = toHex(sha256(joined(utf8(`${name}\n`), data)).subarray(0, 4));
    const publicKey = data.subarray(1);
    if (!isName(name) || id !== expected || !isPublicKey(publicKey)) {
      throw new Malformed("key_malformed", "the key is not an Ed25519 public key with its name and id");
    }
    return new VerifierKey(name, id, type, publicKey);
  }

  toString(): string {
    return `${this.name}+${this.id}+${toBase64(joined(Uint8Array.of(this.type), this.publicKey))}`;
  }
}

export function isName(name: string): boolean {
  const isForbidden = /[\p{White_Space}+]/u.test(name) || hasControlCharacters(name);
  return name !== "" && utf8(name).length <= NAME_BYTES_MAX && !isForbidden;
}

/** A note has none but newlines, so that a terminal shows what was signed. */
export function hasControlCharacters(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched for.
  return /[\0-\x09\x0b-\x1f]/.test(text);
}
