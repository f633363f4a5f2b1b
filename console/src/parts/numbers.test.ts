// How numbers are said.
import { expect, test } from "vitest";
import { bytes, counted } from "./numbers";

test("one is not many", () => {
  expect(counted(1, "event")).toBe("1 event");
  expect(counted(0, "event")).toBe("0 events");
  expect(counted(2_000, "match", "matches")).toBe("2,000 matches");
  expect(counted(12_345, "match", "matches")).toBe("12,345 matches");
});

test("sizes have a unit that keeps them short", () => {
  expect([999, 1_200, 123_456_789].map(bytes)).toEqual(["999 B", "1.2 kB", "123 MB"]);
});
