// What a time zone is called, and times as they are picked in it.
import { expect, test } from "vitest";
import { fromPicker, toPicker, zoneName } from "./clock";

test("a zone is called by its name, and UTC by its own", () => {
  const winter = new Date("2026-01-15T12:00:00Z");
  expect(zoneName("utc", winter)).toBe("UTC");
  expect(zoneName("local", winter)).toMatch(/^local time \((UTC|GMT|[A-Z]{2,5})([+-]\d+(:\d+)?)?\)$/);
});

test("what is picked is meant in the chosen zone", () => {
  const at = new Date("2026-01-15T12:34:00Z");
  expect(toPicker(at, "utc")).toBe("2026-01-15T12:34");
  for (const zone of ["utc", "local"] as const) expect(fromPicker(toPicker(at, zone), zone)).toEqual(at);
  const offset = at.getTimezoneOffset() * 60_000;
  expect(fromPicker("2026-01-15T12:34", "local").getTime() - at.getTime()).toBe(offset);
});
