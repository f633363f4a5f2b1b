// Turns a rule's pattern into what the form shows and back, without changing it.
//
// docs/reference/alert-rule-language.md has the language. What a form has no place for stays as it is written
// (`raw`), so that nothing is lost by looking at it.

export type Value = string | number | boolean | null;
export type Sign = "=" | ">" | ">=" | "<" | "<=";
export type TextOperator = "prefix" | "suffix" | "contains" | "wildcard" | "equals-ignore-case" | "cidr";

/** One thing that a field may be, of which one is enough. */
export type Test =
  | { op: "is"; values: Value[] }
  | { op: "not"; values: Value[] /** Written without a list. */; bare?: boolean }
  | { op: "not-prefix" | "not-suffix" | TextOperator; text: string }
  | { op: "numeric"; bounds: Bound[] }
  | { op: "exists"; there: boolean };
export type Operator = Test["op"];

export interface Bound {
  sign: Sign;
  number: number;
}

/** What is asked of a field, by the names down to it. */
export interface Condition {
  path: string[];
  tests: Test[];
}
/** What the form cannot show: it is kept as it is written. */
interface Raw {
  path: string[];
  raw: unknown;
}
export type PatternPart = Condition | Raw;

export interface Pattern {
  /** All of these must hold, */
  all: PatternPart[];
  /** and all of one of these lists, if there are any. */
  any: PatternPart[][];
}

const TEXT_OPERATORS: readonly string[] = [
  "prefix",
  "suffix",
  "contains",
  "wildcard",
  "equals-ignore-case",
  "cidr",
];
const SIGNS: readonly unknown[] = ["=", ">", ">=", "<", "<="];

type Json = Record<string, unknown>;

export function read(match: unknown): Pattern {
  if (!isObject(match)) return { all: [{ path: [], raw: match }], any: [] };
  const { $or: or, ...fields } = match;
  const pattern: Pattern = { all: asked(fields, []), any: [] };
  if (Array.isArray(or) && or.every((one) => isObject(one) && !("$or" in one))) {
    pattern.any = or.map((one) => asked(one, []));
  } else if (or !== undefined) {
    pattern.all.push({ path: ["$or"], raw: or });
  }
  return pattern;
}

export function write({ all, any }: Pattern): unknown {
  const whole = all.find((one) => "raw" in one && one.path.length === 0);
  if (whole !== undefined && "raw" in whole) return whole.raw;
  const match = fields(all);
  return any.length === 0 ? match : { ...match, $or: any.map(fields) };
}

/** The field by its dotted name, as people write it. */
export function nameOf(path: string[]): string {
  return path.join(".");
}

/** Whether conditions on both paths cannot stand in one pattern: they are the same, or one is inside the other. */
export function clash(one: string[], other: string[]): boolean {
  return one.every((name, at) => at >= other.length || name === other[at]);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isValue(value: unknown): value is Value {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function asked(object: Json, above: string[]): PatternPart[] {
  return Object.entries(object).flatMap(([name, value]): PatternPart[] => {
    const path = [...above, name];
    // A dotted name would read like two, and only metadata has fields inside.
    if (name.includes(".") || name === "") return [{ path, raw: value }];
    if (isObject(value) && path[0] === "metadata" && Object.keys(value).length > 0) return asked(value, path);
    const tests = Array.isArray(value) ? testsOf(value) : undefined;
    return [tests === undefined ? { path, raw: value } : { path, tests }];
  });
}

/** Plain values that stand together are one test; nothing listed yet is a test still to be filled in. */
function testsOf(listed: unknown[]): Test[] | undefined {
  const tests: Test[] = [];
  for (const entry of listed) {
    const last = tests.at(-1);
    const test = isValue(entry) ? ({ op: "is", values: [entry] } as const) : operatorOf(entry);
    if (test === undefined) return undefined;
    if (test.op === "is" && last?.op === "is") last.values.push(...test.values);
    else tests.push(test.op === "is" ? { op: "is", values: [...test.values] } : test);
  }
  return tests.length === 0 ? [{ op: "is", values: [] }] : tests;
}

function operatorOf(entry: unknown): Test | undefined {
  if (!isObject(entry)) return undefined;
  const [[name, operand] = [], another] = Object.entries(entry);
  if (name === undefined || another !== undefined) return undefined;
  if (TEXT_OPERATORS.includes(name)) {
    return typeof operand === "string" ? { op: name as TextOperator, text: operand } : undefined;
  }
  switch (name) {
    case "exists":
      return typeof operand === "boolean" ? { op: "exists", there: operand } : undefined;
    case "numeric":
      return boundsOf(operand);
    case "anything-but":
      return exceptionOf(operand);
    default:
      return undefined;
  }
}

function boundsOf(operand: unknown): Test | undefined {
  if (!Array.isArray(operand) || (operand.length !== 2 && operand.length !== 4)) return undefined;
  const bounds: Bound[] = [];
  for (let at = 0; at < operand.length; at += 2) {
    const [sign, number] = operand.slice(at);
    if (!SIGNS.includes(sign) || typeof number !== "number") return undefined;
    bounds.push({ sign, number });
  }
  return { op: "numeric", bounds };
}

function exceptionOf(operand: unknown): Test | undefined {
  if (isValue(operand)) return { op: "not", values: [operand], bare: true };
  if (Array.isArray(operand)) return operand.every(isValue) ? { op: "not", values: operand } : undefined;
  const inner = operatorOf(operand);
  if (inner?.op === "prefix" || inner?.op === "suffix") return { op: `not-${inner.op}`, text: inner.text };
  return undefined;
}

function fields(all: PatternPart[]): Json {
  const object: Json = {};
  for (const one of all) {
    let place = object;
    for (const name of one.path.slice(0, -1)) {
      if (!isObject(place[name])) place[name] = {};
      place = place[name] as Json;
    }
    place[one.path.at(-1) ?? ""] = "raw" in one ? one.raw : one.tests.flatMap(entriesOf);
  }
  return object;
}

function entriesOf(test: Test): unknown[] {
  switch (test.op) {
    case "is":
      return test.values;
    case "not": {
      const [only] = test.values;
      return [{ "anything-but": test.bare && test.values.length === 1 ? only : test.values }];
    }
    case "not-prefix":
    case "not-suffix":
      return [{ "anything-but": { [test.op.slice("not-".length)]: test.text } }];
    case "numeric":
      return [{ numeric: test.bounds.flatMap(({ sign, number }) => [sign, number]) }];
    case "exists":
      return [{ exists: test.there }];
    default:
      return [{ [test.op]: test.text }];
  }
}
