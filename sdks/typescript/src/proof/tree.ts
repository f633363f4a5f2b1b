// The Merkle tree of RFC 6962: its hashes, and its right edge, which is all that appending and the root need.

import { isSame, joined } from "./encoding.js";
import { sha256 } from "./hash.js";
import { Malformed } from "./malformed.js";

export const HASH_BYTES = 32;
export const SIZE_MAX = 2n ** 63n - 1n;

const LEAF = Uint8Array.of(0);

/** What a node is hashed from; written anew for each, because a file has a million. */
const NODE = new Uint8Array(1 + 2 * HASH_BYTES);
NODE[0] = 1;

export function leafHash(entry: Uint8Array): Uint8Array {
  return sha256(joined(LEAF, entry));
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  NODE.set(left, 1);
  NODE.set(right, 1 + HASH_BYTES);
  return sha256(NODE);
}

export function emptyRoot(): Uint8Array {
  return sha256(new Uint8Array());
}

/** The levels of the largest complete subtrees from leaf `begin` up to, not including, `end`, from left to right. */
export function completeSubtrees(begin: bigint, end: bigint): number[] {
  const levels: number[] = [];
  for (let at = begin; at < end; ) {
    const fitting = (end - at).toString(2).length - 1;
    const level = at === 0n ? fitting : Math.min(fitting, trailingZeros(at));
    levels.push(level);
    at += 1n << BigInt(level);
  }
  return levels;
}

function trailingZeros(number: bigint): number {
  return (number & -number).toString(2).length - 1;
}

/** The roots of a tree's complete subtrees, the largest first: one for each bit that is set in its size. */
export class Edge {
  readonly #roots: Uint8Array[];
  readonly #levels: number[];

  constructor(size = 0n, roots: Uint8Array[] = []) {
    this.#levels = completeSubtrees(0n, size);
    expectHashes(this.#levels.length, roots.length);
    this.#roots = [...roots];
  }

  /** Appends a leaf, or the root of 2^level leaves, a number that divides the size so far. */
  append(root: Uint8Array, level = 0): void {
    let [hash, height] = [root, level];
    while (this.#levels.at(-1) === height) {
      this.#levels.pop();
      hash = nodeHash(this.#roots.pop() as Uint8Array, hash);
      height += 1;
    }
    this.#roots.push(hash);
    this.#levels.push(height);
  }

  root(): Uint8Array {
    return this.#roots.length === 0
      ? emptyRoot()
      : this.#roots.reduceRight((right, left) => nodeHash(left, right));
  }
}

/** The leaves from `begin` up to, not including, `end`, of a tree of `size` leaves. */
export class Range {
  constructor(
    readonly begin: bigint,
    readonly end: bigint,
    readonly size: bigint,
  ) {
    if (size > SIZE_MAX) throw new Malformed("size_too_large", "at most 2^63 - 1 leaves are supported");
    if (begin > end || end > size) {
      const why = `leaves ${begin} to ${end} are not a range of a tree of ${size} leaves`;
      throw new Malformed("range_outside_tree", why);
    }
  }

  /** What the leaves are appended to, from the roots of the complete subtrees before them. */
  start(before: Uint8Array[]): Edge {
    return new Edge(this.begin, before);
  }

  checkAfter(after: Uint8Array[]): void {
    expectHashes(completeSubtrees(this.end, this.size).length, after.length);
  }

  /** The tree's root, when all leaves were appended to what `start` gave. */
  finish(edge: Edge, after: Uint8Array[]): Uint8Array {
    this.checkAfter(after);
    completeSubtrees(this.end, this.size).forEach((level, at) => {
      edge.append(after[at] as Uint8Array, level);
    });
    return edge.root();
  }
}

/** Accepts that a tree of `size` leaves with this `root` has `leaf` at `index`. */
export function verifyInclusion(
  leaf: Uint8Array,
  index: bigint,
  size: bigint,
  root: Uint8Array,
  proof: Uint8Array[],
): void {
  if (size > SIZE_MAX) throw new Malformed("size_too_large", "at most 2^63 - 1 leaves are supported");
  if (index >= size) {
    throw new Malformed("index_outside_tree", `there is no leaf ${index} in a tree of ${size} leaves`);
  }
  const sides = sidesUp(index, size);
  expectHashes(sides.length, proof.length);
  const found = proof.reduce(
    (inner, sibling, at) => (sides[at] === "left" ? nodeHash(sibling, inner) : nodeHash(inner, sibling)),
    leaf,
  );
  if (!isSame(found, root)) {
    const why = "the hashes lead to another root than the checkpoint's: the record was changed or moved";
    throw new Malformed("root_mismatch", why);
  }
}

/** On which side the sibling is, from the leaf up to the root. */
function sidesUp(index: bigint, size: bigint): ("left" | "right")[] {
  const sides: ("left" | "right")[] = [];
  let [begin, end] = [0n, size];
  while (end - begin > 1n) {
    const middle = begin + (1n << BigInt((end - begin - 1n).toString(2).length - 1));
    sides.unshift(index < middle ? "right" : "left");
    if (index < middle) end = middle;
    else begin = middle;
  }
  return sides;
}

function expectHashes(expected: number, found: number): void {
  if (expected === found) return;
  const why = `expected ${expected} hashes and found ${found}: some are missing, or were added`;
  throw new Malformed("hash_count_wrong", why);
}
