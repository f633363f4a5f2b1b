// The filter for events: from the address, for the API, and in words.
import type { Body } from "../api/client";
import { joined, quoted, written } from "../parts/query";
import { all, one, type Search } from "../search";

/** The fields that events can be filtered by, as the API and the address name them. */
export const FIELDS = [
  "event_type",
  "agent_id",
  "action",
  "result",
  "severity",
  "session_id",
  "trace_id",
  "decision_id",
  "source",
] as const;
export type Field = (typeof FIELDS)[number];

/** What of the address is a search for events: its filters, the text and the query. */
export const SEARCHES = [...FIELDS, "q", "filter"] as const;
/** What a view keeps of it beside the time. */
export const KEPT = [...SEARCHES, "live", "hide"] as const;

/** What each field is called. */
export const NAMES: Record<Field, string> = {
  event_type: "Type",
  agent_id: "Agent",
  action: "Action",
  result: "Result",
  severity: "Severity",
  session_id: "Session",
  trace_id: "Trace",
  decision_id: "Decision",
  source: "Source",
};

/** As the API takes it: values of one field are alternatives, different fields must all hold. */
export type Filter = {
  from?: string;
  to?: string;
  q?: string;
  /** A query, which holds beside the others. */
  filter?: string;
  severity?: Body<"Severity">[];
} & Partial<Record<Exclude<Field, "severity">, string[]>>;

export function filterOf(search: Search, times: { from?: string; to?: string }): Filter {
  const filter: Filter = {};
  if (times.from) filter.from = times.from;
  if (times.to) filter.to = times.to;
  for (const field of FIELDS) {
    const values = all(search[field]);
    // The address may have any word. The server says so if there is no such severity.
    if (values.length > 0) Object.assign(filter, { [field]: values });
  }
  const q = one(search.q);
  if (q) filter.q = q;
  const query = one(search.filter);
  if (query) filter.filter = query;
  return filter;
}

/** The values of a field after one was added, or taken away if it was there. */
export function toggled(search: Search, field: Field, value: string): string[] {
  const values = all(search[field]);
  return values.includes(value) ? values.filter((other) => other !== value) : [...values, value];
}

/** The same filter, whatever this field is. */
export function without(filter: Filter, field: Field): Filter {
  const { [field]: _, ...others } = filter;
  return others;
}

/** Each thing that is filtered by, such as `Result is denied or error`. Times are said elsewhere. */
export function inWords(filter: Filter): string[] {
  const words = FIELDS.flatMap((field) => {
    const values = filter[field] ?? [];
    return values.length === 0 ? [] : [`${NAMES[field]} is ${values.join(" or ")}`];
  });
  if (filter.q) words.push(`Contains “${filter.q}”`);
  if (filter.filter) words.push(`Matches ${filter.filter}`);
  return words;
}

/** The same but for its times, as one query. */
export function asQuery(filter: Filter): string {
  const fields = FIELDS.map((field): [string, string[]] => [field, filter[field] ?? []]);
  return joined(fields, filter.q && quoted(filter.q), filter.filter);
}

/** Fields that only a query can filter by. */
const QUERIED = ["resource", "metadata"];
/** A query has room for a few such values. */
const VALUE_CHARS_MAX = 200;

/** The term of a query for a value in an event; nothing where a query cannot say it. */
export function termOf(event: object, path: string[], value: string): string | undefined {
  const [first = "", ...keys] = path;
  const isSayable = QUERIED.includes(first) && value !== "" && value.length <= VALUE_CHARS_MAX;
  if (!isSayable || isInList(event, path)) return undefined;
  const name = [
    first,
    ...keys.map((key) => (/^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u.test(key) ? key : quoted(key))),
  ];
  return `${name.join(".")}:${written(value)}`;
}

/** Whether the way leads into the objects of a list, where queries do not look. */
function isInList(event: object, path: string[]): boolean {
  let inside: unknown = event;
  for (const key of path) {
    if (Array.isArray(inside)) return true;
    inside = (inside as Record<string, unknown> | undefined)?.[key];
  }
  return false;
}

/** The path of the stream of what this filter lets through. */
export function streamPath(filter: Filter): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    for (const each of all(value)) params.append(name, each);
  }
  return `/v1/audit/events/stream?${params}`;
}
