// How fields, operators and values are written in the form.
import type { Operator, Test, Value } from "./pattern";

export interface Field {
  name: string;
  about: string;
  /** Holds numbers only. */
  isNumber?: boolean;
  /** Values that it usually has. */
  usual?: string[];
}

export const SEVERITIES = ["info", "low", "medium", "high", "critical"];

/** The fields of an event that rules usually ask about, those used most first. */
export const FIELDS: Field[] = [
  {
    name: "event_type",
    about: "type of event",
    usual: ["tool_call", "model_call", "decision", "login", "rule_change", "delivery_failure"],
  },
  { name: "action", about: "what was done" },
  {
    name: "result",
    about: "outcome",
    usual: ["success", "denied", "error", "pending", "allowed", "modified", "escalated", "not_enforced"],
  },
  { name: "agent_id", about: "agent that did it" },
  { name: "severity", about: "severity of the event", usual: SEVERITIES },
  { name: "resource", about: "what it was done to" },
  { name: "latency_ms", about: "how long it took, in milliseconds", isNumber: true },
  { name: "error_code", about: "what went wrong" },
  { name: "session_id", about: "session it belongs to" },
  { name: "trace_id", about: "trace it belongs to" },
  { name: "span_id", about: "span it belongs to" },
  { name: "decision_id", about: "decision it follows" },
  { name: "client_event_id", about: "ID assigned by the sender" },
  { name: "id", about: "ID of one event" },
  { name: "occurred_at", about: "when it happened" },
  { name: "received_at", about: "when it arrived" },
  { name: "source", about: "who wrote it: server, or the ID of an API key", usual: ["server"] },
];

export const fieldOf = (path: string[]): Field | undefined =>
  path.length === 1 ? FIELDS.find((field) => field.name === path[0]) : undefined;

/** Why a name cannot be asked about, or nothing if it can. */
export function wrongField(name: string): string | undefined {
  const path = name.split(".");
  if (path.some((part) => part === "")) return "Enter the full name, such as metadata.region.";
  if (path[0] !== "metadata" && fieldOf(path) === undefined) {
    return `Events have no field ${name}. Your own fields are under metadata: metadata.${name}`;
  }
  return undefined;
}

export const OPERATORS: Record<Operator, string> = {
  is: "is one of",
  not: "is not one of",
  prefix: "starts with",
  suffix: "ends with",
  contains: "contains",
  wildcard: "matches (* = any text)",
  "equals-ignore-case": "equals (ignoring case)",
  "not-prefix": "does not start with",
  "not-suffix": "does not end with",
  numeric: "is a number",
  exists: "exists",
  cidr: "is an IP address in",
};

/** A test of another kind, with as much of the one before as fits. */
export function turned(test: Test, op: Operator): Test {
  const values = "values" in test ? test.values : "text" in test && test.text !== "" ? [test.text] : [];
  switch (op) {
    case "is":
      return { op, values };
    case "not":
      return { op, values };
    case "numeric": {
      const number = values.find((value) => typeof value === "number") ?? 0;
      return { op, bounds: "bounds" in test ? test.bounds : [{ sign: ">=", number }] };
    }
    case "exists":
      return { op, there: true };
    default: {
      const text = values.find((value) => typeof value === "string") ?? "";
      return { op, text };
    }
  }
}

/** A value as it is typed: texts as they are, unless they look like something else. */
export function wordOf(value: Value, isText: boolean): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return isText || meant(value, false) === value ? value : JSON.stringify(value);
}

/** What is typed as a value: a number, true, false or null is meant as such where a field can hold them. */
export function meant(word: string, isText: boolean): Value {
  if (isText) return word;
  try {
    const value: unknown = JSON.parse(word);
    if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as Value;
  } catch {
    // No JSON, so it is a text.
  }
  return word;
}
