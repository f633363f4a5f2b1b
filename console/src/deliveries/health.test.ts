// How the health of an endpoint is told.
import { expect, test } from "vitest";
import type { Body } from "../api/client";
import { healthByDeliveries, healthOf, rateOf, runs, tallyOf } from "./health";

const now = new Date("2026-11-15T22:10:00Z");
const well = {
  id: "end_1",
  url: "https://example.com",
  status: "active" as const,
  recent_failures: { last_hour: 0, last_day: 0, last_at: null, complete: true },
};
const failing = { since: "2026-11-15T22:00:00Z", attempts: 12 };

test("what keeps an endpoint from being sent to is said first", () => {
  const breaker = { open_since: failing.since, probes: 1, probe_at: failing.since };
  expect(healthOf(well, now).label).toBe("healthy");
  expect(healthOf({ ...well, failing }, now).label).toBe("failing");
  expect(healthOf({ ...well, failing, breaker }, now).label).toBe("breaker open");
  expect(healthOf({ ...well, failing, breaker, status: "paused" }, now).label).toBe("paused");
  expect(healthOf({ ...well, failing, status: "disabled", disabled_why: "gone" }, now).about).toContain(
    "410",
  );
});

test("the health of an endpoint is said from its attempts", () => {
  const said = (last_hour: number, last_day: number, last_at: string | null, complete = true) => {
    const { label, about } = healthOf(
      { ...well, recent_failures: { last_hour, last_day, last_at, complete } },
      now,
    );
    return [label, about];
  };
  expect(said(3, 9, "2026-11-15T22:09:00Z")).toEqual([
    "unstable",
    "3 attempts failed in the last hour, the last one 1 min. ago.",
  ]);
  expect(said(0, 3, "2026-11-15T20:10:00Z")).toEqual([
    "healthy",
    "3 attempts failed in the last 24 hours, the last one 2 hr. ago.",
  ]);
  expect(said(0, 1_000, "2026-11-15T20:10:00Z", false)[1]).toContain("At least 1,000 attempts failed");
  expect(said(0, 0, null)).toEqual(["healthy", "No attempts failed in the last 24 hours."]);
});

test("an endpoint that is not listed as in trouble is judged by its newest deliveries", () => {
  const judged = (...deliveries: [Body<"DeliveryBody">["state"], number][]) =>
    healthByDeliveries(deliveries.map(([state, attempts]) => ({ state, attempts }))).label;
  expect(judged(["pending", 0])).toBe("not tried yet");
  expect(judged(["delivered", 1], ["pending", 0])).toBe("healthy");
  expect(judged(["delivered", 1], ["delivered", 2])).toBe("retried lately");
  expect(judged(["delivered", 1], ["scheduled", 1])).toBe("retried lately");
  expect(judged(["delivered", 1], ["failed", 1])).toBe("failed lately");
});

test("the rate of success is of deliveries that ended or are held", () => {
  const of = (...states: string[]) => tallyOf(states.map((state) => ({ state })) as never);
  expect(rateOf(of("delivered", "delivered", "delivered", "failed", "scheduled", "shadow"))).toBe("75%");
  expect(rateOf(of("delivered", "failed", "failed"))).toBe("33.3%");
  expect(rateOf(of("delivered", "held", "held", "held"))).toBe("25%");
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
