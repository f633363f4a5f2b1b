// Where policies stand in a text.
import { expect, test } from "vitest";
import { clauseOf, linesOf } from "./clauses";

const TEXT = `// A comment; with @id("no-deletions") in it.
@id("allow-all")
permit (principal, action, resource);

@reason("Agents do not delete; ask \\"Ops\\". // really")
@id("no-deletions")
forbid (
  principal, action == Action::"files.delete", resource
) when { context.note != "@id(\\"refunds\\");" };
@id("refunds") forbid (principal, action, resource); @id("a \\"b\\" \\u{e9}") permit (principal, action, resource);
`;

test.each([
  ["allow-all", { line: 2, endLine: 3 }],
  ["no-deletions", { line: 5, endLine: 9 }],
  ["refunds", { line: 10, endLine: 10 }],
  ['a "b" é', { line: 10, endLine: 10 }],
  ["nobody", undefined],
])("the policy %s is found where it stands", (id, clause) => {
  expect(clauseOf(TEXT, id)).toEqual(clause);
});

test("a text that does not end is no reason to fail", () => {
  for (const text of ["", '@id("a', '@id("a") permit (', "@id", '"']) {
    expect(clauseOf(text, "a")).toBeUndefined();
  }
});

test("lines are named as people do", () => {
  expect(linesOf({ line: 4, endLine: 4 })).toBe("line 4");
  expect(linesOf({ line: 4, endLine: 6 })).toBe("lines 4–6");
});
