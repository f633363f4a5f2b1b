// Computes a line diff from the longest common subsequence.

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
  /** Its number in the text before, from 1. */
  before?: number;
  /** Its number in the text after, from 1. */
  after?: number;
}

/**
 * Tables of more cells than this would take noticeable time and memory; such texts are shown as wholly replaced
 * where they differ. Two texts of 2,000 differing lines fit.
 */
const CELLS_MAX = 4_000_000;

/** The lines of both texts in order: those removed come before those added in their place. */
export function lines(before: string, after: string): Line[] {
  const [old, now] = [split(before), split(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;

  const middle = kept(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same: [number, number][] = [
    ...Array.from({ length: start }, (_, at): [number, number] => [at, at]),
    ...middle.map(([a, b]): [number, number] => [a + start, b + start]),
    ...Array.from({ length: end }, (_, at): [number, number] => [
      old.length - end + at,
      now.length - end + at,
    ]),
  ];
  return merged(old, now, same);
}

/** An empty text has no lines; a line feed at the end ends the last line and starts none. */
function split(text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

/** The places of a longest common subsequence in both lists. */
function kept(old: string[], now: string[]): [number, number][] {
  const width = now.length + 1;
  if ((old.length + 1) * width > CELLS_MAX) return [];
  // How long the longest is from each pair of places on.
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (a: number, b: number) => longest[a * width + b] ?? 0;
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = now.length - 1; b >= 0; b -= 1) {
      longest[a * width + b] =
        old[a] === now[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
    }
  }
  const pairs: [number, number][] = [];
  let [a, b] = [0, 0];
  while (a < old.length && b < now.length) {
    if (old[a] === now[b]) {
      pairs.push([a, b]);
      a += 1;
      b += 1;
    } else if (at(a + 1, b) >= at(a, b + 1)) a += 1;
    else b += 1;
  }
  return pairs;
}

function merged(old: string[], now: string[], same: [number, number][]): Line[] {
  const result: Line[] = [];
  let [a, b] = [0, 0];
  for (const [nextOld, nextNow] of [...same, [old.length, now.length] as const]) {
    for (; a < nextOld; a += 1) result.push({ kind: "removed", text: old[a] ?? "", before: a + 1 });
    for (; b < nextNow; b += 1) result.push({ kind: "added", text: now[b] ?? "", after: b + 1 });
    if (a < old.length && b < now.length) {
      result.push({ kind: "same", text: old[a] ?? "", before: a + 1, after: b + 1 });
      a += 1;
      b += 1;
    }
  }
  return result;
}

/** What a diff shows: lines, and how many unchanged ones are left out between them. */
export type Shown = Line | { kind: "left-out"; count: number; before: number };

/** Leaves out unchanged lines that are further than `around` from a change. */
export function hunks(all: Line[], around = 3): Shown[] {
  const near = new Array<boolean>(all.length).fill(false);
  for (const [at, line] of all.entries()) {
    if (line.kind !== "same") near.fill(true, Math.max(0, at - around), at + around + 1);
  }
  const shown: Shown[] = [];
  for (const [at, line] of all.entries()) {
    const last = shown.at(-1);
    if (near[at]) shown.push(line);
    else if (last?.kind === "left-out") last.count += 1;
    else shown.push({ kind: "left-out", count: 1, before: line.before ?? 0 });
  }
  return shown;
}
