// What is colored how.
import { StringStream } from "@codemirror/language";
import { expect, test } from "vitest";
import { type Language, parserOf } from "./cedar";

function colored(language: Language, line: string): string[] {
  const stream = new StringStream(line, 2, 2);
  const parser = parserOf(language);
  const found: string[] = [];
  while (!stream.eol()) {
    stream.start = stream.pos;
    const style = parser.token(stream, undefined);
    if (style !== null) found.push(`${style} ${stream.current()}`);
  }
  return found;
}

test("Cedar is told apart into words, texts, numbers, comments and annotations", () => {
  expect(colored("cedar", '@id("a \\" b") // why')).toEqual([
    "meta @id",
    'string "a \\" b"',
    "comment // why",
  ]);
  expect(colored("cedar", 'permit (action == Action::"x") when { context.amount >= -5 };')).toEqual([
    "keyword permit",
    "atom action",
    "operator ==",
    "typeName Action",
    "operator ::",
    'string "x"',
    "keyword when",
    "atom context",
    "variableName amount",
    "operator >=",
    "number -5",
  ]);
  expect(colored("schema", "entity Agent;")).toEqual(["keyword entity", "variableName Agent"]);
  expect(colored("json", '{"name": "x", "n": 1.5}')).toEqual([
    'propertyName "name"',
    'string "x"',
    'propertyName "n"',
    "number 1.5",
  ]);
});

test("what is not finished yet is colored up to its end", () => {
  expect(colored("cedar", '@id("a')).toEqual(["meta @id", 'string "a']);
  expect(colored("cedar", "ä §")).toEqual([]);
});
