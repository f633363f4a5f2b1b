// The texts that decisions were made by, and the digest that decisions name them with.
import { sha256 } from "@noble/hashes/sha2.js";
import { toHex, utf8 } from "./encoding.js";

export interface Policy {
  digest: string;
  text: string;
  schema?: string;
}

/** Each text has its length in front, so that none can end in another. */
export function isNamedByItsDigest({ digest, text, schema }: Policy): boolean {
  const hash = sha256.create().update(utf8("watchbell.policies.v1\n"));
  for (const part of schema === undefined ? [text] : [text, schema]) {
    const data = utf8(part);
    hash.update(utf8(`${data.length}:`)).update(data);
  }
  return digest === `sha256:${toHex(hash.digest())}`;
}
