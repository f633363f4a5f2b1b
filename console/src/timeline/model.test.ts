// Steps as rows: nested, in order, and to scale.
import { expect, test } from "vitest";
import type { AuditEvent } from "../events/row";
import { axisOf, barOf, extentOf, lengthOf, type Row, rowsOf, ticksOf } from "./model";

const START = Date.parse("2026-11-17T10:00:00Z");
let made = 0;

/** An event so many milliseconds after the start. */
function event(at: number, more: Partial<AuditEvent> = {}): AuditEvent {
  made += 1;
  const occurred_at = new Date(START + at).toISOString();
  const usual = { event_type: "tool_call", agent_id: "a", action: "b.c", result: "success" };
  return { id: `evt_${made}`, occurred_at, received_at: occurred_at, ...usual, ...more };
}

const span = (span_id: string, parent_span_id?: string) => ({ span_id, metadata: { parent_span_id } });
const run = (events: AuditEvent[], more = {}) =>
  rowsOf({ events, deliveries: [], resolved: new Set(), ...more });
const outline = (rows: Row[]) =>
  rows.map(
    (row) =>
      `${" ".repeat(row.depth)}${row.kind === "step" ? (row.event.span_id ?? row.event.action) : row.kind}`,
  );

test("steps stand in the order in which they began, within the span that they name", () => {
  const root = event(1_000, { ...span("root"), latency_ms: 1_000 });
  const events = [
    event(900, span("second", "root")),
    event(300, span("deep", "first")),
    event(400, span("first", "root")),
  ];
  expect(outline(run([...events, root]))).toEqual(["root", " first", "  deep", " second"]);
});

test("a span that is not there, or names itself in a circle, nests nothing and loses nothing", () => {
  const rows = run([
    event(1, span("a", "c")),
    event(2, span("b", "a")),
    event(3, span("c", "b")),
    event(4, span("d", "gone")),
  ]);
  expect(rows).toHaveLength(4);
  expect(outline(run([event(1, span("self", "self"))]))).toEqual(["self"]);
  expect(rows.filter(({ depth }) => depth === 0)).toHaveLength(2);
});

test("what says nothing of the run stands with the step that has the same decision", () => {
  const asked = { event_type: "decision", action: "asked", decision_id: "dec_1", source: "server" };
  const done = { action: "done", decision_id: "dec_1" };
  expect(outline(run([event(0, asked), event(9, done)]))).toEqual(["asked", " done"]);
  expect(outline(run([event(0, asked), event(9, { ...done, ...span("call") })]))).toEqual(["call", " asked"]);
});

test("several traces are told apart, one is not", () => {
  const trace = (trace_id: string, at: number) => event(at, { trace_id });
  const rows = run([trace("x", 10), trace("y", 20), trace("x", 30), event(5)]);
  expect(outline(rows)).toEqual(["b.c", "trace", " b.c", " b.c", "trace", " b.c"]);
  expect(rows[1]).toMatchObject({ trace: "x", steps: 2, from: START + 10, to: START + 30 });
  expect(outline(run([trace("x", 1), trace("x", 2)]))).toEqual(["b.c", "b.c"]);
});

test("an approval stands with its decision, from the question to the answer, and alerts with their event", () => {
  const decision = { event_type: "decision", result: "escalated", decision_id: "dec_1", source: "server" };
  const asked = event(0, decision);
  const end = event(60_000, { ...decision, event_type: "approval", result: "approved" });
  const delivery = { id: "dlv_1", event_id: asked.id, matched_at: "2026-11-20T00:00:00Z" };
  const rows = run([end, asked], { deliveries: [delivery] });
  expect(rows.map(({ kind, depth }) => [kind, depth])).toEqual([
    ["step", 0],
    ["approval", 1],
    ["alert", 1],
  ]);
  expect(rows[1]).toMatchObject({ from: START, to: START + 60_000, end });
  // The alert came days later and does not squeeze the rest.
  expect(axisOf(rows)).toEqual({ from: START, to: START + 60_000 });
  // Nobody answered yet; of those that were not looked for nothing is said.
  expect(run([asked], { resolved: new Set(["dec_1"]) })[1]).toMatchObject({
    kind: "approval",
    end: undefined,
  });
  expect(run([asked])).toHaveLength(1);
  // What a client calls an approval is a step like any other.
  expect(run([event(1, { ...decision, event_type: "approval", source: "key_1" })])[0]?.kind).toBe("step");
});

test("an event ends at its time and began as long before as it took", () => {
  expect(extentOf(event(500, { latency_ms: 200 }))).toEqual({ from: START + 300, to: START + 500 });
  expect(extentOf(event(500, { metadata: { took_us: 2_000 } })).from).toBe(START + 498);
  for (const wrong of [{ latency_ms: -5 }, { metadata: { took_us: "long" } }]) {
    expect(extentOf(event(500, wrong)).from).toBe(START + 500);
  }
});

test("bars lie to scale on the axis, and never beside it", () => {
  const axis = { from: 1_000, to: 3_000 };
  expect(barOf({ from: 1_500, to: 2_000 }, axis)).toEqual({ left: 25, width: 25 });
  expect(barOf({ from: 9_000, to: 9_000 }, axis)).toEqual({ left: 100, width: 0 });
  expect(axisOf(run([event(0)]))).toEqual({ from: START, to: START + 1 });
});

test.each([1, 7, 1_000, 45_000, 2_700_000, 86_400_000, 30 * 86_400_000])(
  "an axis of %i ms has few round ticks",
  (ms) => {
    const ticks = ticksOf({ from: 0, to: ms });
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    expect(ticks.length).toBeLessThanOrEqual(6);
    expect(ticks.at(-1)).toBeLessThanOrEqual(ms);
  },
);

test.each([
  [250, "250 ms"],
  [2_500, "2.5 s"],
  [30_000, "30 s"],
  [90_000, "1:30 min"],
  [3_900_000, "1:05:00 h"],
  [90_000_000, "25:00:00 h"],
])("%i ms is %s", (ms, text) => {
  expect(lengthOf(ms)).toBe(text);
});
