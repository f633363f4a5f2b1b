// What of an address is taken for a range of time, and what is not.
import { expect, test } from "vitest";
import { intervalOf, timesOf } from "./TimeRange";

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
