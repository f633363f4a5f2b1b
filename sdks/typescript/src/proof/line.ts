// The lines of an export after its header, each in the one spelling that it may have.
import { fromBase64 } from "./encoding.js";
import { ATTEMPT, decodeId, EVENT } from "./ids.js";
import { LEAF_BYTES, SALT_BYTES } from "./leaf.js";
import type { Policy } from "./policy.js";
import type { Counts } from "./report.js";
import { HASH_BYTES } from "./tree.js";

const WITHHELD_PER_LINE_MAX = 1_024;

export type Line =
  /** An event or an attempt, with its leaf and its salt. */
  | { is: "record"; kind: number; leaf: Uint8Array; salt: Uint8Array; stored: string }
  /** A leaf whose bytes were erased, and the event that says so. */
  | { is: "erased"; leaf: Uint8Array; by: Uint8Array }
  /** A leaf whose bytes are past their retention. */
  | { is: "gone"; leaf: Uint8Array }
  /** A leaf whose bytes should be there and are not. */
  | { is: "missing"; leaf: Uint8Array }
  /** Leaves that the filter does not match. */
  | { is: "withheld"; hashes: Uint8Array[] }
  /** What decisions in the file were made by. */
  | { is: "policy"; policy: Policy }
  /** The last line: how many there are of each. */
  | { is: "end"; counts: Counts };

const COUNTS: (keyof Counts)[] = ["leaves", "events", "attempts", "erased", "gone", "withheld"];

/** Undefined if it is none. */
export function readLine(line: string): Line | undefined {
  const said = objectIn(line);
  if (said === undefined) return undefined;
  const leaf = bytes(said.leaf, LEAF_BYTES);
  const names = Object.keys(said);
  const has = (...expected: string[]) => areSame(names, expected);
  if (has("leaf", "salt", "event")) return record(EVENT, leaf, said.salt, said.event);
  if (has("leaf", "salt", "attempt")) return record(ATTEMPT, leaf, said.salt, said.attempt);
  if (has("hashes")) return withheld(said.hashes);
  if (has("policy")) return policy(said.policy);
  if (has("end")) return end(said.end);
  if (leaf === undefined) return undefined;
  if (has("leaf", "erased")) return erased(leaf, said.erased);
  if (has("leaf", "gone") && said.gone === true) return { is: "gone", leaf };
  if (has("leaf", "missing") && said.missing === true) return { is: "missing", leaf };
  return undefined;
}

function record(
  kind: number,
  leaf: Uint8Array | undefined,
  salt: unknown,
  stored: unknown,
): Line | undefined {
  const salted = bytes(salt, SALT_BYTES);
  if (leaf === undefined || salted === undefined || typeof stored !== "string") return undefined;
  return { is: "record", kind, leaf, salt: salted, stored };
}

function erased(leaf: Uint8Array, id: unknown): Line | undefined {
  const by = typeof id === "string" ? decodeId(id) : undefined;
  return by?.[0] === EVENT ? { is: "erased", leaf, by } : undefined;
}

function withheld(said: unknown): Line | undefined {
  const joined = typeof said === "string" ? fromBase64(said) : undefined;
  const count = (joined?.length ?? 0) / HASH_BYTES;
  if (joined === undefined || !Number.isInteger(count) || count < 1 || count > WITHHELD_PER_LINE_MAX) {
    return undefined;
  }
  const hash = (_: unknown, at: number) => joined.subarray(HASH_BYTES * at, HASH_BYTES * (at + 1));
  return { is: "withheld", hashes: Array.from({ length: count }, hash) };
}

function policy(said: unknown): Line | undefined {
  const policy = membersOf(said, "digest", "text") ?? membersOf(said, "digest", "text", "schema");
  if (policy === undefined || !Object.values(policy).every((value) => typeof value === "string")) {
    return undefined;
  }
  return { is: "policy", policy: policy as unknown as Policy };
}

function end(said: unknown): Line | undefined {
  const counts = membersOf(said, ...COUNTS);
  if (counts === undefined || !Object.values(counts).every(isNumber)) return undefined;
  return { is: "end", counts: counts as unknown as Counts };
}

/** There is one spelling: what is read must be written as it was. */
export function objectIn(line: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(line);
    const isSame = isObject(said) && JSON.stringify(said) === line && !hasHalfCharacters(line);
    return isSame ? said : undefined;
  } catch {
    // Also what is nested too deeply to be written again.
    return undefined;
  }
}

/** `JSON.stringify` writes half a character as `\ud800`, and nothing else. */
function hasHalfCharacters(line: string): boolean {
  return line.includes("\\ud") && line.replaceAll("\\\\", "").includes("\\ud");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object with exactly these members, in this order. */
export function membersOf(value: unknown, ...names: string[]): Record<string, unknown> | undefined {
  return isObject(value) && areSame(Object.keys(value), names) ? value : undefined;
}

function areSame(names: string[], expected: string[]): boolean {
  return names.length === expected.length && names.every((name, at) => name === expected[at]);
}

export function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** So many bytes as are wanted, in base64. */
export function bytes(value: unknown, length: number): Uint8Array | undefined {
  const data = typeof value === "string" ? fromBase64(value) : undefined;
  return data?.length === length ? data : undefined;
}
