// A draft of policies: what is sent to be checked, and which lines have problems.
import type { Body } from "../api/client";
import type { LineMark } from "./marks";

export interface Draft {
  policies: string;
  schema: string;
  /** As JSON: tests are written as they are sent. */
  tests: string;
  note: string;
}

export type Part = "policies" | "schema" | "tests";

/** Something that is said of a draft: of which part, and where if that is known. */
export interface Finding {
  part: Part;
  kind: "error" | "warning";
  line?: number;
  column?: number | undefined;
  text: string;
}

/** A test as the server runs it. */
export interface TestResult {
  name: string;
  passed: boolean;
  expected: { decision: string; policies?: string[] };
  decision: string;
  policies: string[];
  reason: string;
}

export function draftOf(version: { policies: string; schema?: string | null; tests: unknown[] }): Draft {
  const { policies, schema, tests } = version;
  return { policies, schema: schema ?? "", tests: JSON.stringify(tests, null, 2), note: "" };
}

/** Puts a template beside what is written. Its tests follow those that are there. */
export function withTemplate(draft: Draft, template: { policies: string; tests: unknown[] }): Draft {
  const tests = readTests(draft.tests);
  const all = "wrong" in tests ? draft.tests : JSON.stringify([...tests.tests, ...template.tests], null, 2);
  return { ...draft, policies: `${draft.policies.trimEnd()}\n\n${template.policies}`, tests: all };
}

type Tests = { tests: unknown[] } | { wrong: Finding };

/** The tests that a text has; an empty one has none. */
export function readTests(text: string): Tests {
  const wrong = (detail: string, line?: number): Tests => ({
    wrong: { part: "tests", kind: "error", text: detail, line },
  });
  if (text.trim() === "") return { tests: [] };
  try {
    const tests: unknown = JSON.parse(text);
    return Array.isArray(tests) ? { tests } : wrong("Tests must be a list: [ … ].", 1);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return wrong(`Not valid JSON: ${said}`, lineOfJson(said, text));
  }
}

/** Browsers tell the place of a fault in JSON by line or by the number of characters before it. */
function lineOfJson(said: string, text: string): number | undefined {
  const line = /line (\d+)/.exec(said)?.[1];
  if (line) return Number(line);
  const place = /position (\d+)/.exec(said)?.[1];
  return place ? text.slice(0, Number(place)).split("\n").length : undefined;
}

/** What is sent: to be checked, or to be saved. */
export function bodyOf(draft: Draft): Body<"NewPolicyVersion"> {
  const tests = readTests(draft.tests);
  return {
    policies: draft.policies,
    schema: draft.schema.trim() === "" ? undefined : draft.schema,
    tests: ("wrong" in tests ? [] : tests.tests) as Body<"NewPolicyVersion">["tests"],
    note: draft.note.trim() === "" ? undefined : draft.note,
  };
}

interface Said {
  pointer: string;
  detail: string;
}

/** Where in the draft is what the server says. */
export function findingOf(kind: Finding["kind"], { pointer, detail }: Said, draft: Draft): Finding {
  const [, name, which] = pointer.split("/");
  const part: Part = name === "schema" || name === "tests" ? name : "policies";
  const told = /line (\d+), column (\d+)/.exec(detail);
  if (told) return { part, kind, text: detail, line: Number(told[1]), column: Number(told[2]) };
  const sought = which === undefined ? undefined : lineOf(part, unescaped(which), draft);
  return { part, kind, text: detail, line: sought };
}

interface Answer {
  errors: Said[];
  warnings: unknown[];
  tests: TestResult[];
}

/** All that the server says of a draft, with the tests that failed. */
export function findingsOf({ errors, warnings, tests }: Answer, draft: Draft): Finding[] {
  const failed = tests.flatMap(({ name, passed, decision }, place) =>
    passed ? [] : [{ pointer: `/tests/${place}`, detail: `${name}: got ${decision}` }],
  );
  return [
    ...errors.map((one) => findingOf("error", one, draft)),
    ...(warnings as Said[]).map((one) => findingOf("warning", one, draft)),
    ...failed.map((one) => findingOf("error", one, draft)),
  ];
}

function unescaped(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The line of a policy by its id, or of a test by its place in the list. */
function lineOf(part: Part, which: string, draft: Draft): number | undefined {
  if (part === "tests") return lineOfTest(draft.tests, Number(which));
  const lines = draft.policies.split("\n");
  const at = lines.findIndex((line) => line.includes(`@id(${JSON.stringify(which)})`));
  return at < 0 ? undefined : at + 1;
}

/** Tests begin with `{` at the indentation of the first, as we write them. */
function lineOfTest(text: string, place: number): number | undefined {
  const begins = text.split("\n").flatMap((line, at) => (/^ {0,2}\{/.test(line) ? [at + 1] : []));
  return begins[place];
}

/** The marks beside the lines of each part. */
export function marksByPart(findings: Finding[]): Record<Part, LineMark[]> {
  const of = (part: Part) => marksOf(findings, part);
  return { policies: of("policies"), schema: of("schema"), tests: of("tests") };
}

/** The marks beside the lines of a part. */
export function marksOf(findings: Finding[], part: Part): LineMark[] {
  return findings.flatMap(({ part: of, kind, line, column, text }) =>
    of === part && line !== undefined ? [{ line, column, kind, text }] : [],
  );
}
