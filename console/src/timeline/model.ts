// The run of an agent as rows on one axis: its steps nested by span, with approvals and alerts beside what caused them.
import type { Body } from "../api/client";
import { isEnd } from "../decisions/record";
import type { AuditEvent } from "../events/row";

type Delivery = Body<"DeliveryBody">;

/** A part of time, in milliseconds since 1970. */
export interface Extent {
  from: number;
  to: number;
}

interface Place extends Extent {
  id: string;
  /** How far in it stands; from 0. */
  depth: number;
}

export type Row = Place &
  (
    | { kind: "trace"; trace: string; steps: number }
    | { kind: "step"; event: AuditEvent }
    /** Without an end it waits, or its end is not known here. */
    | { kind: "approval"; decision: string; end?: AuditEvent }
    | { kind: "alert"; delivery: Delivery }
  );

export interface Run {
  events: AuditEvent[];
  deliveries: Delivery[];
  /** Decisions whose approvals were looked for. */
  resolved: ReadonlySet<string>;
}

/** When an event began and ended. Clients send events when they are over, so its time is the end. */
export function extentOf({ occurred_at, latency_ms, metadata }: AuditEvent): Extent {
  const to = Date.parse(occurred_at);
  const took = latency_ms ?? Number(metadata?.took_us ?? 0) / 1_000;
  return { from: to - (Number.isFinite(took) && took > 0 ? took : 0), to };
}

/** All rows in the order in which they are read. */
export function rowsOf({ events, deliveries, resolved }: Run): Row[] {
  const steps = events.filter((event) => !isEnd(event)).sort(byStart);
  const ends = new Map(events.filter(isEnd).map((end) => [end.decision_id, end]));
  const alerts = grouped(deliveries, ({ event_id }) => event_id);
  const beside = (event: AuditEvent, depth: number): Row[] => [
    ...approvalOf(event, ends, resolved, depth),
    ...(alerts.get(event.id) ?? []).map((delivery) => alertRow(delivery, depth)),
  ];
  const forest = nested(steps);
  const told = (node: Node, depth: number): Row[] => [
    { kind: "step", id: node.event.id, depth, ...extentOf(node.event), event: node.event },
    ...beside(node.event, depth + 1),
    ...node.inside.flatMap((child) => told(child, depth + 1)),
  ];
  const traces = new Set(steps.map(({ trace_id }) => trace_id).filter(Boolean));
  if (traces.size < 2) return forest.flatMap((node) => told(node, 0));
  return [...grouped(forest, ({ event }) => event.trace_id)].flatMap(([trace, nodes]) => {
    if (trace === undefined) return nodes.flatMap((node) => told(node, 0));
    const inside = nodes.flatMap((node) => told(node, 1));
    const count = inside.filter(({ kind }) => kind === "step").length;
    return [
      { kind: "trace", id: `trace-${trace}`, depth: 0, ...around(inside), trace, steps: count },
      ...inside,
    ];
  });
}

/** `Map.groupBy` is too new for the browsers that people have. */
function grouped<K, T>(all: T[], key: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

function byStart(a: AuditEvent, b: AuditEvent): number {
  return extentOf(a).from - extentOf(b).from || a.id.localeCompare(b.id);
}

interface Node {
  event: AuditEvent;
  inside: Node[];
}

/**
 * Steps within the step whose span they name as their parent; what says nothing of the run, with the step that has
 * the same decision; the others side by side.
 */
function nested(steps: AuditEvent[]): Node[] {
  const nodes = steps.map((event): Node => ({ event, inside: [] }));
  const bySpan = firsts(nodes, ({ span_id }) => span_id);
  const byDecision = firsts([...nodes.filter(isPlaced), ...nodes], ({ decision_id }) => decision_id);
  const parents = new Map<Node, Node>();
  for (const node of nodes) {
    const parent = isPlaced(node)
      ? bySpan.get(String(node.event.metadata?.parent_span_id))
      : byDecision.get(node.event.decision_id ?? "");
    // What names itself, also by way of others, is within nothing.
    if (parent && !isWithin(parent, node, parents)) {
      parents.set(node, parent);
      parent.inside.push(node);
    }
  }
  return nodes.filter((node) => !parents.has(node));
}

/** Whether a step says where in the run it belongs. */
function isPlaced({ event }: Node): boolean {
  return event.trace_id !== undefined || event.span_id !== undefined;
}

/** The first step of each name. */
function firsts(nodes: Node[], nameOf: (event: AuditEvent) => string | undefined): Map<string, Node> {
  const found = new Map<string, Node>();
  for (const node of nodes) {
    const name = nameOf(node.event);
    if (name && !found.has(name)) found.set(name, node);
  }
  return found;
}

function isWithin(inner: Node, outer: Node, parents: Map<Node, Node>): boolean {
  for (let node: Node | undefined = inner; node; node = parents.get(node)) if (node === outer) return true;
  return false;
}

function approvalOf(
  event: AuditEvent,
  ends: Map<string | undefined, AuditEvent>,
  resolved: ReadonlySet<string>,
  depth: number,
): Row[] {
  const decision = event.decision_id;
  if (event.event_type !== "decision" || event.result !== "escalated" || decision === undefined) return [];
  const end = ends.get(decision);
  if (end === undefined && !resolved.has(decision)) return [];
  const from = Date.parse(event.occurred_at);
  const to = end ? Date.parse(end.occurred_at) : from;
  return [{ kind: "approval", id: `approval-${decision}`, depth, from, to, decision, end }];
}

function alertRow(delivery: Delivery, depth: number): Row {
  const at = Date.parse(delivery.matched_at);
  return { kind: "alert", id: delivery.id, depth, from: at, to: at, delivery };
}

function around(rows: Row[]): Extent {
  const inside = rows.filter(({ kind }) => kind !== "alert");
  return {
    from: inside.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY),
    to: inside.reduce((most, { to }) => Math.max(most, to), Number.NEGATIVE_INFINITY),
  };
}

/** The axis. Alerts do not widen it: events may be sent, and match, long after they happened. */
export function axisOf(rows: Row[]): Extent {
  const { from, to } = around(rows);
  return from < to ? { from, to } : { from, to: from + 1 };
}

/** Where a part of time lies on the axis, in percent of its width. */
export function barOf({ from, to }: Extent, axis: Extent): { left: number; width: number } {
  const width = axis.to - axis.from;
  const percent = (at: number) => Math.min(Math.max((100 * (at - axis.from)) / width, 0), 100);
  return { left: percent(from), width: percent(to) - percent(from) };
}

/** Steps of a ruler that people can add up, in milliseconds. */
const ROUND = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * 60_000),
);
/** More would not be read on a phone. */
const TICKS_MAX = 5;

/** Round times on the axis, in milliseconds from its start. */
export function ticksOf({ from, to }: Extent): number[] {
  const width = to - from;
  const days = Math.ceil(width / TICKS_MAX / 86_400_000) * 86_400_000;
  const step = ROUND.find((one) => width / one <= TICKS_MAX) ?? days;
  return Array.from({ length: Math.floor(width / step) + 1 }, (_, at) => at * step);
}

/** A length that adds up with its neighbors on the axis, such as `250 ms`, `2.5 s`, `1:30 min` or `1:05:00 h`. */
export function lengthOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1_000);
  const two = (count: number) => String(count).padStart(2, "0");
  const [hours, minutes, rest] = [
    Math.floor(seconds / 3_600),
    Math.floor(seconds / 60) % 60,
    two(seconds % 60),
  ];
  return hours > 0 ? `${hours}:${two(minutes)}:${rest} h` : `${minutes}:${rest} min`;
}
