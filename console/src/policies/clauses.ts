// Where each policy stands in a text of policies.

export interface Clause {
  /** From 1. */
  line: number;
  /** The last line, which has the semicolon. */
  endLine: number;
}

/** Comments, strings, `@id`, and any other sign: enough to see where a policy begins and ends. */
const TOKEN = /\/\/[^\r\n]*|"(?:\\[\s\S]|[^"\\])*"|@id\b|\S/g;

/** The lines of the policy with this ID. */
export function clauseOf(text: string, id: string): Clause | undefined {
  let start: number | undefined;
  /** The tokens so far that an `@id("…")` could end with. */
  let last: string[] = [];
  let isIt = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith("//")) continue;
    start ??= index;
    if (last[0] === "@id" && last[1] === "(" && token.startsWith('"')) isIt = unquoted(token) === id;
    last = [last.at(-1) ?? "", token];
    if (token !== ";") continue;
    if (isIt) return { line: lineAt(text, start), endLine: lineAt(text, index) };
    start = undefined;
    last = [];
  }
  return undefined;
}

/** `line 4` or `lines 4–6`. */
export function linesOf({ line, endLine }: Clause): string {
  return line === endLine ? `line ${line}` : `lines ${line}–${endLine}`;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t", "0": "\0" };

/** What a string of Cedar says. */
function unquoted(token: string): string {
  return token
    .slice(1, -1)
    .replace(/\\(?:u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|([\s\S]))/g, (_, unicode, byte, sign) =>
      sign === undefined
        ? String.fromCodePoint(Number.parseInt(unicode ?? byte, 16))
        : (ESCAPES[sign] ?? sign),
    );
}
