// Ed25519 verification that accepts what the strict verification of `ed25519-dalek` accepts, which the server signs with.
// Libraries disagree about odd keys and signatures, so only the arithmetic is another's.
import { Point } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { joined } from "./encoding.js";

const ORDER = Point.CURVE().n;

/** Whether it is a point, and not one of the few for which anyone can make signatures. */
export function isPublicKey(key: Uint8Array): boolean {
  return pointOf(key) !== undefined;
}

export function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== 64) return false;
  const start = signature.subarray(0, 32);
  const scalar = littleEndian(signature.subarray(32));
  const [key, commitment] = [pointOf(publicKey), pointOf(start)];
  if (key === undefined || commitment === undefined || scalar >= ORDER) return false;
  const challenge = littleEndian(sha512(joined(start, publicKey, message))) % ORDER;
  const expected = commitment.add(key.multiply(challenge, false));
  return Point.BASE.multiply(scalar, false).equals(expected);
}

/** A point whose order is large; its y may be written as a number above the prime. */
function pointOf(encoded: Uint8Array): Point | undefined {
  if (encoded.length !== 32) return undefined;
  try {
    const point = Point.fromBytes(encoded, true);
    return point.isSmallOrder() ? undefined : point;
  } catch {
    return undefined;
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}
