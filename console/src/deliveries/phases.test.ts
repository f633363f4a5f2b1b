// How long each phase of an attempt took, and where it began.
import { expect, test } from "vitest";
import { phasesOf } from "./phases";

const times = { started_at: "2026-11-15T22:00:00.000Z", finished_at: "2026-11-15T22:00:00.050Z" };

test("each phase begins where the one before ended", () => {
  const timings = {
    resolved_us: 1_000,
    connected_us: 5_000,
    secured_us: 15_000,
    sent_us: 15_500,
    answered_us: 40_000,
  };
  const { phases, total } = phasesOf({ ...times, timings });
  expect(phases.map(({ name, from, took }) => [name, from, took])).toEqual([
    ["DNS", 0, 1_000],
    ["connect", 1_000, 4_000],
    ["TLS", 5_000, 10_000],
    ["send", 15_000, 500],
    ["first byte", 15_500, 24_500],
    ["rest", 40_000, 10_000],
  ]);
  expect(total).toBe(50_000);
});

test("a connection that was open already has no DNS, connect and TLS", () => {
  const timings = {
    resolved_us: null,
    connected_us: null,
    secured_us: null,
    sent_us: 300,
    answered_us: 60_000,
  };
  const { phases, total } = phasesOf({ ...times, timings });
  expect(phases.map((phase) => phase.name)).toEqual(["send", "first byte"]);
  expect(total).toBe(60_000);
});

test("where nothing was reached, the time went into trying", () => {
  expect(phasesOf({ ...times, timings: {} }).phases).toEqual([
    { name: "no connection", from: 0, took: 50_000 },
  ]);
});
