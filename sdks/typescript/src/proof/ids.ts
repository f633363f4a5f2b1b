// Ids as people see them: a prefix that says the kind, and a UUID in Crockford's base32 (`evt_01j9z…`).

/** What a record is, as a leaf says it. */
export const EVENT = 1;
export const ATTEMPT = 2;

const PREFIXES: Record<number, string> = { [EVENT]: "evt_", [ATTEMPT]: "att_" };
/** Crockford's alphabet: no i, l, o, u. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** 26 digits have 130 bits: the first has two that an id has not. */
const ID = /^(evt|att)_([0-7][0-9a-hjkmnp-tv-z]{25})$/;

/** A byte for the kind and 16 for the id. */
export const RECORD_BYTES = 17;

/** What an id names, as a leaf has it; undefined if it is no id of an event or an attempt. */
export function decodeId(text: string): Uint8Array | undefined {
  const [, prefix, digits] = ID.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const record = new Uint8Array(RECORD_BYTES);
  record[0] = prefix === "evt" ? EVENT : ATTEMPT;
  let [pending, bits, at] = [0, -2, 1];
  for (const digit of digits) {
    pending = (pending << 5) | ALPHABET.indexOf(digit);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    record[at] = pending >> bits;
    pending &= (1 << bits) - 1;
    at += 1;
  }
  return record;
}

/** The text of an id. */
export function encodeId(record: Uint8Array): string {
  let text = PREFIXES[record[0] ?? 0] ?? "";
  let [pending, bits] = [0, 2];
  for (const byte of record.subarray(1)) {
    pending = (pending << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[pending >> bits];
      pending &= (1 << bits) - 1;
    }
  }
  return text;
}
