// HalfSipHash-2-4 (https://github.com/veorq/SipHash), which who does not know the key cannot make collide. Its arithmetic is
// of 32 bits, as that of JavaScript is.

const ROUNDS_PER_WORD = 2;
const LAST_ROUNDS = 4;

/** Of whole words; the key has two. */
export function halfSipHash(key: Uint32Array, words: Uint32Array): number {
  const [k0 = 0, k1 = 0] = key;
  let [v0, v1, v2, v3] = [k0, k1, k0 ^ 0x6c796765, k1 ^ 0x74656462];
  const { length } = words;
  const taken = ROUNDS_PER_WORD * (length + 1);
  for (let round = 0; round < taken + LAST_ROUNDS; round += 1) {
    const at = round >> 1;
    const word = at < length ? (words[at] ?? 0) : at === length ? (4 * length) << 24 : 0;
    const isFirst = (round & 1) === 0;
    if (isFirst) v3 ^= word;
    if (round === taken) v2 ^= 0xff;
    v0 = (v0 + v1) | 0;
    v1 = turned(v1, 5) ^ v0;
    v0 = turned(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = turned(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = turned(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = turned(v1, 13) ^ v2;
    v2 = turned(v2, 16);
    if (!isFirst) v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}

const turned = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits));
