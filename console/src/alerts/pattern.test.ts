// Patterns as conditions that people read, and back.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { clash, read, write } from "./pattern";

const language = readFileSync("../docs/reference/alert-rule-language.md", "utf8");

/** Every pattern of the language's document: its code blocks, and what its tables list for a field. */
function examples(): unknown[] {
  const blocks = [...language.matchAll(/```json\n([\s\S]*?)```/g)].map(([, code]) => JSON.parse(code ?? ""));
  const [table = ""] = language.split("## What a list can contain")[1]?.split("\n- ") ?? [];
  const entries = table
    .split("\n")
    .filter((row) => row.startsWith("| `"))
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)])
    .map(([, code]) => ({ metadata: { field: [JSON.parse(code ?? "")] } }));
  return [...blocks, ...entries];
}

/** Whether the form shows all of a pattern. */
function isShown({ all, any }: ReturnType<typeof read>): boolean {
  return [...all, ...any.flat()].every((one) => "tests" in one);
}

test("every example of the language's document is shown whole and written back as it was", () => {
  expect(examples().length).toBeGreaterThan(15);
  for (const match of examples()) {
    const pattern = read(match);
    expect(isShown(pattern), JSON.stringify(match)).toBe(true);
    expect(write(pattern)).toEqual(match);
  }
});

test("what the document gives as wrong is kept as it is written", () => {
  const [, table = ""] = language.split("## Errors");
  const wrong = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code]) => JSON.parse(code ?? ""));
  expect(wrong.length).toBeGreaterThan(5);
  for (const match of wrong) expect(write(read(match))).toEqual(match);
});

test("what no form can show is kept beside what it can", () => {
  const match = {
    result: ["denied", { soundex: "x" }],
    action: [{ prefix: "a" }, "b", "c"],
    metadata: { "a.b": [1], deep: { er: [{ exists: false }] }, empty: {} },
    $or: "not a list",
  };
  const pattern = read(match);
  expect(isShown(pattern)).toBe(false);
  expect(write(pattern)).toEqual(match);
  expect(pattern.all.find((one) => one.path[0] === "action")).toEqual({
    path: ["action"],
    tests: [
      { op: "prefix", text: "a" },
      { op: "is", values: ["b", "c"] },
    ],
  });
});

test("a pattern that is none at all is kept too", () => {
  for (const match of [null, [], "x", 5]) expect(write(read(match))).toEqual(match);
});

test("a field that is not filled in yet has a place in the form", () => {
  expect(read({ action: [] }).all).toEqual([{ path: ["action"], tests: [{ op: "is", values: [] }] }]);
});

test("two conditions clash if they are about the same field or one is inside the other", () => {
  expect(clash(["metadata", "a"], ["metadata", "a"])).toBe(true);
  expect(clash(["metadata"], ["metadata", "a"])).toBe(true);
  expect(clash(["metadata", "a", "b"], ["metadata", "a"])).toBe(true);
  expect(clash(["metadata", "a"], ["metadata", "ab"])).toBe(false);
});
