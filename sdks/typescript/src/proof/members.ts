// The members of a JSON object as they are written. `JSON.parse` keeps the last of those with one name and hides the others.
import { isWellFormed } from "./encoding.js";
import { Malformed } from "./malformed.js";

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const malformed = (why: string) => new Malformed("record_malformed", why);

/** What stands between each name's colon and the comma after it. */
export class Members {
  readonly #names: string[] = [];
  readonly #json: string[] = [];

  /** Throws {@link Malformed} unless it is an object whose names are texts: half a character is none. */
  constructor(json: string) {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      throw malformed("not a JSON object");
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw malformed("not a JSON object");
    }
    this.#read(json);
  }

  /** The member's JSON; undefined if there is none. */
  one(name: string): string | undefined {
    const at = this.#names.indexOf(name);
    if (at !== this.#names.lastIndexOf(name)) throw malformed(`\`${name}\` is there twice`);
    return this.#json[at];
  }

  /** The member, which must be a text. */
  text(name: string): string {
    const value = textOf(this.one(name));
    if (value === undefined) throw malformed(`\`${name}\` is missing or not a text`);
    return value;
  }

  /** What was parsed without an error needs no second look: only where its members begin and end. */
  #read(json: string): void {
    let depth = 0;
    let name: string | undefined;
    let nameEnds = 0;
    let valueStarts = 0;
    for (let at = 0; at < json.length; at += 1) {
      const char = json.charCodeAt(at);
      if (char === QUOTE) {
        const end = closingQuote(json, at);
        if (depth === 1 && name === undefined && nameEnds === 0) {
          name = nameOf(json.slice(at, end + 1));
          nameEnds = end;
        }
        at = end;
      } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
        depth += 1;
      } else if (char === COLON && depth === 1) {
        valueStarts = at + 1;
      } else if (char === COMMA && depth === 1) {
        this.#add(name, json.slice(valueStarts, at));
        [name, nameEnds] = [undefined, 0];
      } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
        if (depth === 1) this.#add(name, json.slice(valueStarts, at));
        depth -= 1;
      }
    }
  }

  #add(name: string | undefined, json: string): void {
    if (name === undefined) return;
    this.#names.push(name);
    this.#json.push(json);
  }
}

/** A JSON text that is one; undefined for anything else. */
export function textOf(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return typeof value === "string" && isWellFormed(value) ? value : undefined;
}

function nameOf(json: string): string {
  const name = json.includes("\\") ? (JSON.parse(json) as string) : json.slice(1, -1);
  if (json.includes("\\") && !isWellFormed(name)) throw malformed("a name has half a character");
  return name;
}

/** Where the string ends that starts at this quote. */
function closingQuote(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end;
}

function isEscaped(json: string, at: number): boolean {
  let before = at - 1;
  while (json.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
