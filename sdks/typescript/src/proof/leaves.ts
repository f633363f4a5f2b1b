// Which leaves a file has: 17 bytes for each of perhaps millions, where a `Map` takes more and ends at 2^24.
import { halfSipHash } from "./siphash.js";

const WORDS = 4;
const FIRST_CAPACITY = 1_024;
/** Above that, looking for a place takes long. */
const FULL = 0.7;
const [EMPTY, SHOWN] = [0, 4];

/** Kind and id of every leaf that is not withheld, and whether what it commits to is shown. */
export class Leaves {
  #capacity = FIRST_CAPACITY;
  #ids = new Uint32Array(FIRST_CAPACITY * WORDS);
  /** The kind, and whether it is shown. */
  #states = new Uint8Array(FIRST_CAPACITY);
  #size = 0;
  /** Drawn anew, so that who makes a file cannot choose ids that all belong in one place. */
  readonly #secret = crypto.getRandomValues(new Uint32Array(2));

  /** False if it is there already. */
  add(record: Uint8Array, isShown: boolean): boolean {
    if (this.#size >= this.#capacity * FULL) this.#grow();
    const [kind, id] = parts(record);
    const place = this.#placeOf(kind, id);
    if (this.#states[place] !== EMPTY) return false;
    this.#ids.set(id, place * WORDS);
    this.#states[place] = kind | (isShown ? SHOWN : 0);
    this.#size += 1;
    return true;
  }

  /** Whether it is shown; undefined if it is not in the file. */
  isShown(record: Uint8Array): boolean | undefined {
    const state = this.#states[this.#placeOf(...parts(record))] ?? EMPTY;
    return state === EMPTY ? undefined : (state & SHOWN) !== 0;
  }

  /** Where it is, or would be. */
  #placeOf(kind: number, id: Uint32Array): number {
    const last = this.#capacity - 1;
    let place = halfSipHash(this.#secret, id) & last;
    while (this.#states[place] !== EMPTY && !this.#isAt(place, kind, id)) place = (place + 1) & last;
    return place;
  }

  #isAt(place: number, kind: number, id: Uint32Array): boolean {
    if (((this.#states[place] ?? EMPTY) & ~SHOWN) !== kind) return false;
    const start = place * WORDS;
    for (let word = 0; word < WORDS; word += 1) {
      if (this.#ids[start + word] !== id[word]) return false;
    }
    return true;
  }

  #grow(): void {
    const [ids, states] = [this.#ids, this.#states];
    this.#capacity *= 2;
    this.#ids = new Uint32Array(this.#capacity * WORDS);
    this.#states = new Uint8Array(this.#capacity);
    states.forEach((state, place) => {
      if (state === EMPTY) return;
      const id = ids.subarray(place * WORDS, (place + 1) * WORDS);
      const moved = this.#placeOf(state & ~SHOWN, id);
      this.#ids.set(id, moved * WORDS);
      this.#states[moved] = state;
    });
  }
}

function parts(record: Uint8Array): [number, Uint32Array] {
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  const id = new Uint32Array(WORDS);
  for (let word = 0; word < WORDS; word += 1) id[word] = view.getUint32(1 + 4 * word);
  return [view.getUint8(0), id];
}
