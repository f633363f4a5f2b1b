// How the health of an endpoint is told.
import { expect, test } from "vitest";
import { healthOf, rateOf, runs, tallyOf } from "./health";

const well = { id: "end_1", url: "https://example.com", status: "active" as const };
const failing = { since: "2026-11-15T22:00:00Z", attempts: 12 };

test("what keeps an endpoint from being sent to is said first", () => {
  const breaker = { open_since: failing.since, probes: 1, probe_at: failing.since };
  expect(healthOf(well).label).toBe("healthy");
  expect(healthOf({ ...well, failing }).label).toBe("failing");
  expect(healthOf({ ...well, failing, breaker }).label).toBe("breaker open");
  expect(healthOf({ ...well, failing, breaker, status: "paused" }).label).toBe("paused");
  expect(healthOf({ ...well, failing, status: "disabled", disabled_why: "gone" }).about).toContain("410");
});

test("the rate of success is of deliveries that ended", () => {
  const of = (...states: string[]) => tallyOf(states.map((state) => ({ state })) as never);
  expect(rateOf(of("delivered", "delivered", "delivered", "failed", "scheduled", "shadow"))).toBe("75%");
  expect(rateOf(of("delivered", "failed", "failed"))).toBe("33.3%");
  expect(rateOf(of("pending", "canceled"))).toBeUndefined();
});

test("what is told several times in a row is told once", () => {
  const told = (notice: "rejecting" | "paused", at: string) => ({ notice, at, error: null });
  const all = [told("rejecting", "3"), told("rejecting", "2"), told("paused", "1"), told("rejecting", "0")];
  expect(runs(all).map(({ notice, at, times }) => [notice, at, times])).toEqual([
    ["rejecting", "3", 2],
    ["paused", "1", 1],
    ["rejecting", "0", 1],
  ]);
});
