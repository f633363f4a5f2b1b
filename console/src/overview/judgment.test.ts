// How the four numbers are judged, at their limits.
import { expect, test } from "vitest";
import { decisions, ingest, type Overview, perSecond, success, undelivered } from "./judgment";

const now = new Date("2026-11-15T12:00:00Z");

function overview(change: {
  events?: Partial<Overview["events"]>;
  deliveries?: Partial<Overview["deliveries"]>;
  decisions?: Partial<Overview["decisions"]>;
}): Overview {
  const deliveries = {
    delivered: 0,
    failed: 0,
    canceled: 0,
    pending: 0,
    held: 0,
    overdue: 0,
    complete: true,
    oldest_undelivered: null,
  };
  const decided = { total: 0, allowed: 0, denied: 0, modified: 0, escalated: 0, not_enforced: 0 };
  return {
    from: "2026-11-15T11:00:00Z",
    to: "2026-11-15T12:00:00Z",
    interval: "minute",
    events: { total: 0, last_at: null, buckets: [], ...change.events },
    deliveries: { ...deliveries, buckets: [], ...change.deliveries },
    decisions: {
      ...decided,
      p50_us: null,
      p99_us: null,
      measured: 0,
      complete: true,
      buckets: [],
      ...change.decisions,
    },
    fresh: true,
  };
}

test("events that arrive are fine, silence is worth a look", () => {
  const arriving = overview({ events: { total: 3_600, last_at: "2026-11-15T11:59:58Z" } });
  expect(ingest(arriving, 2, now)).toMatchObject({ value: "2.0/s", grade: "good", verdict: "Arriving" });
  const quiet = overview({ events: { total: 3_600, last_at: "2026-11-15T11:00:00Z" } });
  expect(ingest(quiet, 0, now)).toMatchObject({ grade: "warn", verdict: "Quiet for 1.0 h" });
  expect(ingest(overview({}), 0, now).grade).toBe("none");
});

test("one failure in a thousand is not rounded away", () => {
  expect(success(overview({ deliveries: { delivered: 9_999, failed: 1 } })).value).toBe("99.9%");
  expect(success(overview({ deliveries: { delivered: 10, failed: 0 } }))).toMatchObject({
    value: "100%",
    grade: "good",
  });
  expect(success(overview({ deliveries: { delivered: 97, failed: 3 } })).grade).toBe("warn");
  expect(success(overview({ deliveries: { delivered: 1, failed: 1 } })).grade).toBe("bad");
  expect(success(overview({})).grade).toBe("none");
});

test("what is held or overdue counts against success", () => {
  const stuck = success(overview({ deliveries: { delivered: 187, pending: 81, held: 81 } }));
  expect(stuck).toMatchObject({ value: "69.7%", grade: "bad", note: "187 delivered, 0 failed, 81 held." });
  const young = success(overview({ deliveries: { delivered: 187, pending: 81 } }));
  expect(young).toMatchObject({ value: "100%", grade: "good" });
  expect(young.note).toBe("187 delivered, 0 failed, 81 in progress.");
  const one = success(overview({ deliveries: { delivered: 9_999, pending: 3, overdue: 1 } }));
  expect(one).toMatchObject({ value: "99.9%", grade: "warn", verdict: "At risk" });
  expect(one.note).toContain("1 overdue, 2 in progress");
});

test("what waits is judged by its age", () => {
  const waiting = (matched_at: string) =>
    overview({ deliveries: { oldest_undelivered: { id: "dlv_1", matched_at } } });
  expect(undelivered(overview({}), now)).toMatchObject({ grade: "good", verdict: "All delivered" });
  expect(undelivered(waiting("2026-11-15T11:59:50Z"), now)).toMatchObject({ value: "10.0 s", grade: "good" });
  expect(undelivered(waiting("2026-11-15T11:50:00Z"), now).grade).toBe("warn");
  const held = overview({
    deliveries: { held: 2, oldest_undelivered: { id: "dlv_1", matched_at: "2026-11-15T11:59:50Z" } },
  });
  expect(undelivered(held, now)).toMatchObject({ grade: "warn", verdict: "Held" });
  expect(undelivered(waiting("2026-11-15T09:00:00Z"), now).grade).toBe("bad");
});

test("decisions are judged by the slowest of a hundred", () => {
  expect(decisions(overview({ decisions: { p99_us: 900 } }))).toMatchObject({
    value: "900 µs",
    grade: "good",
  });
  expect(decisions(overview({ decisions: { p99_us: 30_000 } })).grade).toBe("warn");
  expect(decisions(overview({ decisions: { p99_us: 300_000 } })).grade).toBe("bad");
  const some = decisions(
    overview({ decisions: { p99_us: 900, measured: 10, total: 1_000, complete: false } }),
  );
  expect(some.note).toContain("the newest 10 of 1,000 decisions");
});

test("a rate is said in the unit that says most", () => {
  expect([0, 0.01, 1.25, 1_234.5].map(perSecond)).toEqual(["0/s", "0.6/min", "1.3/s", "1,235/s"]);
});
