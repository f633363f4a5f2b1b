// Whether what is said to be erased was: the event that did it is in the log and names it.
import { encodeId } from "./ids.js";
import type { Leaves } from "./leaves.js";

interface Claim {
  line: number;
  record: Uint8Array;
  by: Uint8Array;
}

/** What a file says of erasures. Records are a byte for the kind and 16 for the id. */
export class Erasures {
  readonly #claims: Claim[] = [];
  readonly #named = new Set<string>();

  /** A line says that the event `by` erased a record. */
  claimed(line: number, record: Uint8Array, by: Uint8Array): void {
    this.#claims.push({ line, record, by });
  }

  /** An event says what it erased. */
  told(by: Uint8Array, erased: Uint8Array[]): void {
    for (const record of erased) this.#named.add(pair(by, record));
  }

  /** What is wrong, and how many could not be checked. If the file `isComplete`, the log has no others after the first. */
  judge(leaves: Leaves, isComplete: boolean) {
    const found: { line: number; code: string; id: string }[] = [];
    let unchecked = 0;
    for (const { line, record, by } of this.#claims) {
      const isShown = leaves.isShown(by);
      const id = encodeId(record);
      if (isShown === true) {
        if (!this.#named.has(pair(by, record))) found.push({ line, code: "erasure_unfounded", id });
      } else if (isShown === undefined && isComplete) {
        // An erasure comes after what it erases.
        found.push({ line, code: "erasure_missing", id });
      } else unchecked += 1;
    }
    return { found, unchecked };
  }
}

function pair(by: Uint8Array, record: Uint8Array): string {
  return `${encodeId(by)} ${encodeId(record)}`;
}
