// Cuts pieces of a file into lines of bounded length.

/** An event has at most 32 KiB, and escaping makes at most six bytes of one. The rest is room for policies. */
export const LINE_BYTES_MAX = 4 * 1024 * 1024;

const NEWLINE = 0x0a;

type Next = Uint8Array | "unfinished" | "too_long";

/** Keeps no more than the line that a piece ends in. */
export class Lines {
  #kept = new Uint8Array(64 * 1024);
  #length = 0;
  readonly #feed: (line: Next) => void;

  /** `feed` gets every line without its newline, and may not keep it. */
  constructor(feed: (line: Next) => void) {
    this.#feed = feed;
  }

  push(piece: Uint8Array): void {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      this.#line(piece.subarray(start, end));
      start = end + 1;
    }
    this.#keep(piece.subarray(start));
    if (this.#length > LINE_BYTES_MAX) this.#feed("too_long");
  }

  end(): void {
    if (this.#length > 0) this.#feed("unfinished");
  }

  #line(rest: Uint8Array): void {
    if (this.#length + rest.length > LINE_BYTES_MAX) {
      this.#feed("too_long");
    } else if (this.#length === 0) {
      this.#feed(rest);
    } else {
      this.#keep(rest);
      const line = this.#kept.subarray(0, this.#length);
      this.#length = 0;
      this.#feed(line);
    }
  }

  #keep(part: Uint8Array): void {
    // Of what is too long already, no more needs to be kept.
    const kept = part.subarray(0, LINE_BYTES_MAX + 1 - this.#length);
    if (this.#length + kept.length > this.#kept.length) {
      const larger = new Uint8Array(Math.max(this.#length + kept.length, 2 * this.#kept.length));
      larger.set(this.#kept.subarray(0, this.#length));
      this.#kept = larger;
    }
    this.#kept.set(kept, this.#length);
    this.#length += kept.length;
  }
}
