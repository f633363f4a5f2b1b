// Bytes as text, in the one spelling that counts. The platform's own base64 forgives, and is slower in Node.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NONE = 255;
const VALUES = new Uint8Array(128).fill(NONE);
for (let value = 0; value < 64; value += 1) VALUES[DIGITS.charCodeAt(value)] = value;

/** Padded base64 whose unused bits are zero; anything else is undefined. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  const digits = text.length - padding;
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let at = 0; at < digits; at += 1) {
    const value = VALUES[text.charCodeAt(at)] ?? NONE;
    if (value === NONE) return undefined;
    pending = (pending << 6) | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length] = pending >> bits;
    length += 1;
    pending &= (1 << bits) - 1;
  }
  return pending === 0 ? bytes : undefined;
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const [one = 0, two = 0, three = 0] = bytes.subarray(at, at + 3);
    const group = (one << 16) | (two << 8) | three;
    const digits = [18, 12, 6, 0].map((shift) => DIGITS[(group >> shift) & 63]).join("");
    const left = bytes.length - at;
    text += left > 2 ? digits : digits.slice(0, left + 1).padEnd(4, "=");
  }
  return text;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const ENCODER = new TextEncoder();

export function utf8(text: string): Uint8Array {
  return ENCODER.encode(text);
}

export function joined(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Whether no character is half a one: what a text has that is written as bytes. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
