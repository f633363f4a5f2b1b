// What a live tail shows, keeps and counts.
import { expect, test } from "vitest";
import { DRAWN_MAX, drawn, founded, NO_TAIL, resumed, TAIL_ROWS_MAX, type TailRow } from "./tail";

function row(number: number): TailRow {
  const at = new Date(1_760_000_000_000 + number).toISOString();
  const names = { event_type: "tool_call", agent_id: "a", action: "x.y", result: "success" };
  return { id: `evt_${String(number).padStart(8, "0")}`, occurred_at: at, received_at: at, ...names };
}
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => row(from + at));

test("what was received last comes first, once", () => {
  const tail = founded(drawn(NO_TAIL, rows(5, 8), false), rows(3, 6));
  expect(tail.rows.map((one) => one.id)).toEqual([7, 6, 5, 4, 3].map((number) => row(number).id));
});

test("while paused nothing moves, and what waits is counted", () => {
  const before = drawn(NO_TAIL, rows(0, 3), false);
  const paused = drawn(before, rows(3, 10), true);
  expect(paused.rows).toEqual(before.rows);
  expect(paused.waitingCount).toBe(7);
  const after = resumed(paused);
  expect(after.rows).toHaveLength(10);
  expect(after.waitingCount).toBe(0);
});

test("more than can be read is sampled, and it says how", () => {
  const tail = drawn(NO_TAIL, rows(0, DRAWN_MAX * 4), false);
  expect(tail.oneIn).toBe(4);
  expect(tail.rows).toHaveLength(DRAWN_MAX);
  expect(drawn(tail, rows(1_000, 1_001), false).oneIn).toBe(1);
});

test("never more rows are kept than are of use", () => {
  let tail = NO_TAIL;
  for (let at = 0; at < 40; at += 1) tail = drawn(tail, rows(at * DRAWN_MAX, (at + 1) * DRAWN_MAX), at > 30);
  expect(tail.rows).toHaveLength(TAIL_ROWS_MAX);
  expect(resumed(tail).rows).toHaveLength(TAIL_ROWS_MAX);
});
