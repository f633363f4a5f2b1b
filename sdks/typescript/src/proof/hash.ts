// SHA-256, of which a file of a million events needs three million.
import { sha256 as hasher } from "@noble/hashes/sha2.js";

const FRESH = hasher.create();
const USED = hasher.create();

/** To make a hasher anew for each small piece would take half as long as hashing does. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return FRESH._cloneInto(USED).update(bytes).digest();
}
