// The keyed hash, on the vectors of its authors, and the table that it keeps even.
import { expect, test } from "vitest";
import { Leaves } from "../src/proof/leaves.js";
import { halfSipHash } from "../src/proof/siphash.js";

/** Of 00 01 02…, under the key 00…07: those of `vectors_hsip32` in veorq/SipHash whose length is of whole words. */
const HASHES = [
  0x5b9f35a9, 0x89466e2a, 0x8f84b8d0, 0x2f87f057, 0x84acb5d9, 0x45104de3, 0x630c4027, 0x004064b0, 0x1221e7fe,
];

test.each(HASHES.map((hash, words) => [words, hash]))("of %i words the hash is %i", (words, hash) => {
  const bytes = Uint8Array.from({ length: 4 * words }, (_, at) => at);
  const view = new DataView(bytes.buffer);
  const message = Uint32Array.from({ length: words }, (_, at) => view.getUint32(4 * at, true));
  expect(halfSipHash(Uint32Array.of(0x03020100, 0x07060504), message)).toBe(hash);
});

test("ids that differ where multiplying carries nothing on have other places", () => {
  // Of the product with any odd number, the highest bit changes alone, and folding moves it where the next word undoes it.
  const pairs = [
    [Uint32Array.of(1, 2, 3, 4), Uint32Array.of(0x80000001, 0x80010002, 3, 4)],
    [Uint32Array.of(1, 2, 3, 4), Uint32Array.of(1, 0x80000002, 0x80010003, 4)],
  ] as const;
  for (let number = 1; number < 100; number += 1) {
    const key = Uint32Array.of(number, 2 * number + 1);
    for (const [one, other] of pairs) expect(halfSipHash(key, one)).not.toBe(halfSipHash(key, other));
  }
});

test("of thousands of leaves each is there once, as it was added", () => {
  const leaves = new Leaves();
  const ids = Array.from({ length: 5_000 }, (_, at) => record(at, 0x80010000 ^ at, at << 16, 7));
  const isShown = ids.map((_, at) => at % 3 === 0);
  expect(ids.map((id) => leaves.isShown(id))).toEqual(ids.map(() => undefined));
  expect(ids.every((id, at) => leaves.add(id, isShown[at] === true))).toBe(true);
  expect(ids.some((id) => leaves.add(id, true))).toBe(false);
  expect(ids.map((id) => leaves.isShown(id))).toEqual(isShown);
});

/** A record of kind 1 with an id of these words. */
function record(...words: number[]): Uint8Array {
  const bytes = new Uint8Array(17);
  bytes[0] = 1;
  words.forEach((word, at) => {
    new DataView(bytes.buffer).setUint32(1 + 4 * at, word);
  });
  return bytes;
}
