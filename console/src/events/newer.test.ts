// How many events came after the list.
import { expect, test } from "vitest";
import { inWords, newIn, since } from "./newer";

test("what the list does not have is new, wherever it would stand", () => {
  const rows = [{ id: "b" }, { id: "a" }];
  expect(newIn(["c", "b", "late"], rows)).toBe(2);
  expect(newIn(["b"], rows)).toBe(0);
  expect(newIn(["c"], [])).toBe(1);
  expect([1, 3, 51].map(inWords)).toEqual(["1 new event", "3 new events", "More than 50 new events"]);
});

test("events count from when they came, beside what is searched for", () => {
  const at = "2026-11-15T09:31:00.000Z";
  expect(since(undefined, at)).toBe(`received_at:>=${at}`);
  expect(since("result:denied", at)).toBe(`result:denied received_at:>=${at}`);
});
