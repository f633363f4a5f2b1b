// What of an address is taken for a range of time, and what is not.
import { expect, test } from "vitest";
import { fixedAddress, intervalOf, namedRanges, timesOf } from "./TimeRange";

test("fixed times are taken as they are", () => {
  const range = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
  expect(timesOf(range)).toEqual(range);
});

test("what is no time and no known span is left out", () => {
  const ago = (range: object) => Date.now() - Date.parse(timesOf(range, "1h").from);
  for (const range of [{ from: "abc" }, { last: "constructor" }, { last: "2 weeks" }, {}]) {
    expect(ago(range) / 3_600_000, JSON.stringify(range)).toBeCloseTo(1, 1);
  }
  expect(timesOf({ from: "2026-01-01T00:00:00Z", to: "soon" }).to).toBeUndefined();
  expect(intervalOf({ from: "2026-01-01T00:00:00Z", to: "2026-01-01T01:00:00Z" })).toBe("minute");
});

test("days have names, and a week begins on Monday", () => {
  const named = (now: string) => namedRanges(new Date(now), "utc");
  expect(named("2026-11-18T10:00:00Z")).toEqual({
    Today: { from: "2026-11-18T00:00:00.000Z" },
    Yesterday: { from: "2026-11-17T00:00:00.000Z", to: "2026-11-18T00:00:00.000Z" },
    "This week": { from: "2026-11-16T00:00:00.000Z" },
  });
  for (const day of ["2026-11-16T00:00:00Z", "2026-11-22T23:59:59Z"]) {
    expect(named(day)["This week"]).toEqual({ from: "2026-11-16T00:00:00.000Z" });
  }
});

test("a link that is shared has fixed times and nothing that goes on with time", () => {
  const now = new Date("2026-11-18T10:00:00Z");
  const shared = fixedAddress(
    "http://x/events?last=24h&result=denied&live=1",
    { from: "2026-11-17T10:00:00Z" },
    now,
  );
  const search = Object.fromEntries(new URL(shared).searchParams);
  expect(search).toEqual({ result: "denied", from: "2026-11-17T10:00:00Z", to: "2026-11-18T10:00:00.000Z" });
});
