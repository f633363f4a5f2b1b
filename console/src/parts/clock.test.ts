// What a time zone is called.
import { expect, test } from "vitest";
import { zoneName } from "./clock";

test("a zone is called by its name, and UTC by its own", () => {
  const winter = new Date("2026-01-15T12:00:00Z");
  expect(zoneName("utc", winter)).toBe("UTC");
  expect(zoneName("local", winter)).toMatch(/^local time \((UTC|GMT|[A-Z]{2,5})([+-]\d+(:\d+)?)?\)$/);
});
