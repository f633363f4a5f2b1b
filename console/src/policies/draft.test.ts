// Where in a draft a finding of the server is.
import { expect, test } from "vitest";
import {
  bodyOf,
  type Draft,
  findingOf,
  findingsOf,
  marksByPart,
  marksOf,
  readTests,
  withTemplate,
} from "./draft";
import { spanOf } from "./marks";

const draft: Draft = {
  policies:
    '@id("a")\npermit (principal, action, resource);\n\n@id("b/c")\nforbid (principal, action, resource);',
  schema: "",
  tests: '[\n  {\n    "name": "one"\n  },\n  {\n    "name": "two"\n  }\n]',
  note: "",
};

test("a place that the server tells is the line of the finding", () => {
  const said = { pointer: "/policies", detail: "unexpected token `}` (line 3, column 25)." };
  expect(findingOf("error", said, draft)).toMatchObject({ part: "policies", kind: "error", line: 3 });
  const schema = { pointer: "/schema", detail: "unknown type (line 2, column 1)." };
  expect(findingOf("error", schema, draft)).toMatchObject({ part: "schema", line: 2 });
});

test("a policy is found by its id and a test by its place where no line is told", () => {
  const policy = findingOf("warning", { pointer: "/policies/b~1c", detail: "doubtful" }, draft);
  expect(policy).toMatchObject({ part: "policies", line: 4 });
  const second = findingOf("error", { pointer: "/tests/1", detail: "expects allow" }, draft);
  expect(second).toMatchObject({ part: "tests", line: 5 });
  expect(findingOf("warning", { pointer: "/schema", detail: "none" }, draft).line).toBeUndefined();
});

test("only what has a line is marked, each in its part", () => {
  const findings = [
    findingOf("error", { pointer: "/policies", detail: "x (line 2, column 1)." }, draft),
    findingOf("warning", { pointer: "/schema", detail: "none" }, draft),
  ];
  expect(marksOf(findings, "policies")).toEqual([
    { line: 2, column: 1, kind: "error", text: "x (line 2, column 1)." },
  ]);
  expect(marksOf(findings, "schema")).toEqual([]);
});

test("tests that cannot be read say so at their line, and none are none", () => {
  expect(readTests("")).toEqual({ tests: [] });
  expect(readTests("{}")).toMatchObject({ wrong: { part: "tests", line: 1 } });
  expect(readTests('[\n  {"name": 1,}\n]')).toMatchObject({ wrong: { kind: "error", line: 2 } });
});

test("a template stands beside what is written, with its tests", () => {
  const more = withTemplate(draft, {
    policies: '@id("d") permit (principal, action, resource);',
    tests: [{}],
  });
  expect(more.policies).toContain('@id("b/c")');
  expect(more.policies).toContain('@id("d")');
  expect(bodyOf(more).tests).toHaveLength(3);
});

test("an empty schema and an empty note are not sent", () => {
  expect(bodyOf(draft)).toMatchObject({ schema: undefined, note: undefined });
});

test("a mistake is marked at its word, or at the last letter of a line that lacks something", () => {
  expect(spanOf("when { context.amount > };", 8)).toEqual([7, 14]);
  expect(spanOf("permit (a)  ", 11)).toEqual([9, 10]);
  expect(spanOf("   ", 1)).toBeUndefined();
  expect(spanOf("permit", undefined)).toBeUndefined();
});

test("errors, warnings and failed tests are marked, each in its part", () => {
  const test = { name: "two", passed: false, decision: "deny", policies: [], reason: "" };
  const findings = findingsOf(
    {
      errors: [{ pointer: "/policies", detail: "unexpected token (line 2, column 1)." }],
      warnings: [{ pointer: "/policies/b~1c", detail: "doubtful" }],
      tests: [
        { ...test, name: "one", passed: true, expected: { decision: "deny" } },
        { ...test, expected: { decision: "allow" } },
      ],
    },
    draft,
  );
  const { policies, schema, tests } = marksByPart(findings);
  expect(policies.map(({ kind, line }) => [kind, line])).toEqual([
    ["error", 2],
    ["warning", 4],
  ]);
  expect(schema).toEqual([]);
  expect(tests).toMatchObject([{ kind: "error", line: 5, text: "two: got deny" }]);
});
