// Mistakes in a text, by line and, where it is known, by column.
export interface LineMark {
  /** From 1. */
  line: number;
  /** From 1. */
  column?: number | undefined;
  kind: "error" | "warning";
  text: string;
}

export function isError(mark: LineMark): boolean {
  return mark.kind === "error";
}

/** From where to where in a line a mistake is marked: the word or the sign at its column. */
export function spanOf(line: string, column: number | undefined): [number, number] | undefined {
  if (column === undefined || line.trim() === "") return undefined;
  // What is missing at the end of a line is marked at its last letter.
  const from = Math.min(column - 1, line.trimEnd().length - 1);
  const word = /^(\w+|\S)/.exec(line.slice(from))?.[0] ?? " ";
  return [from, from + word.length];
}
