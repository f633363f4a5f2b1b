// What is counted and said about decisions.
import { expect, test } from "vitest";
import { decisionIdOf, denyRates, eventIdOf, filtersOf, isFiltered, readJson } from "./model";

test("the rate of denials is of all decisions of its time, and unknown where there were none", () => {
  const at = "2026-11-15T00:00:00Z";
  const buckets = [
    { at, total: 4, counts: { denied: 1, allowed: 3 } },
    { at, total: 0, counts: {} },
    { at, total: 2, counts: { allowed: 2 } },
  ];
  expect(denyRates(buckets)).toEqual([25, null, 0]);
});

test("a decision and its event differ by the prefix", () => {
  expect(eventIdOf("dec_01m7")).toBe("evt_01m7");
  expect(decisionIdOf({ id: "evt_01m7" } as never)).toBe("dec_01m7");
});

test("the address holds any number of values of a filter", () => {
  const filters = filtersOf({ agent_id: ["a", "b"], result: "denied" });
  expect(filters).toEqual({
    agent_id: ["a", "b"],
    action: [],
    result: ["denied"],
    q: undefined,
    filter: undefined,
  });
  expect(isFiltered(filters)).toBe(true);
  expect(isFiltered(filtersOf({ last: "7d" }))).toBe(false);
});

test("what is no JSON says why", () => {
  expect(readJson('{"a": 1}')).toEqual({ value: { a: 1 } });
  expect(readJson("{")).toHaveProperty("wrong");
});
