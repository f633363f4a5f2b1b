// How lag is added up and drawn.
import { expect, test } from "vitest";
import { barOf, logsOf, sumBehind, tablesOf } from "./lag";

test("a bar is empty without lag, seen with a little, and full with much", () => {
  expect(barOf(0)).toBe(0);
  expect(barOf(1)).toBeGreaterThan(5);
  expect(barOf(1_000)).toBeGreaterThan(barOf(100));
  expect(barOf(10_000_000)).toBe(100);
});

test("lag adds up over logs", () => {
  expect(sumBehind([{ behind: 2 }, { behind: 40 }])).toBe(42);
  expect(sumBehind([])).toBe(0);
});

test("a log is told as a whole, with the partitions that are behind", () => {
  const of = (log: string, partition: number, behind: number) => ({ log, partition, behind });
  const [busy, busier] = [of("events", 1, 3), of("events", 2, 40)];
  expect(logsOf([of("events", 0, 0), busy, of("alerts", 0, 0), busier])).toEqual([
    { name: "alerts", behind: 0, late: [] },
    { name: "events", behind: 43, late: [busier, busy] },
  ]);
});

test("days are told by table, newest first, with their sum", () => {
  const day = (table: string, day: string, bytes: number, rows: number | null) => ({
    table,
    day,
    bytes,
    rows,
  });
  const tables = tablesOf([
    day("audit_events_d20771", "2026-11-14", 10, 5),
    day("audit_events_d20772", "2026-11-15", 30, null),
    day("deliveries_d20772", "2026-11-15", 7, 1),
  ]);
  expect(tables.map(({ name, bytes, rows }) => [name, bytes, rows])).toEqual([
    ["audit_events", 40, 5],
    ["deliveries", 7, 1],
  ]);
  expect(tables[0]?.days.map(({ day }) => day)).toEqual(["2026-11-15", "2026-11-14"]);
});
