// Digests and keys as text, read strictly: only the spelling that a sender writes is read at all.

const HEX = /^sha256=([0-9a-f]{64})$/;
const BASE64 = /^v1,([A-Za-z0-9+/]{43}=)$/;
const WHSEC = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

export type Bytes = Uint8Array<ArrayBuffer>;

/** The digest in a value of `X-Service-Signature`. */
export function digestFromHex(signature: string): Bytes | undefined {
  const hex = HEX.exec(signature)?.[1];
  return hex === undefined
    ? undefined
    : Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

/** The digest in one signature of `webhook-signature`. */
export function digestFromBase64(signature: string): Bytes | undefined {
  return fromBase64(BASE64.exec(signature)?.[1]);
}

/** The key in a secret of the form `whsec_<base64>`. */
export function keyFromWhsec(secret: string): Bytes | undefined {
  return fromBase64(WHSEC.exec(secret)?.[1]);
}

export function toHex(digest: Bytes): string {
  return `sha256=${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function toBase64(digest: Bytes): string {
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}

/** `atob` also reads what has no padding, or ends in bits that mean nothing. */
function fromBase64(text: string | undefined): Bytes | undefined {
  if (text === undefined || text.length % 4 !== 0) return undefined;
  const bytes = atob(text);
  return btoa(bytes) === text ? Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)) : undefined;
}
