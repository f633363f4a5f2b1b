// How many events are newer than the list.
import { expect, test } from "vitest";
import { inWords, newerThan } from "./newer";

test("what stands before the newest event of the list is new", () => {
  expect(newerThan(["c", "b", "a"], "a")).toBe(2);
  expect(newerThan(["a"], "a")).toBe(0);
  expect(newerThan(["c", "b"], "a")).toBe(2);
  expect(newerThan(["c", "b"], undefined)).toBe(2);
  expect([1, 3, 51].map(inWords)).toEqual(["1 new event", "3 new events", "More than 50 new events"]);
});
