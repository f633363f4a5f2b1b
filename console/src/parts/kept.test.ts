// What a browser remembers of what somebody chose.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { kept } from "./kept";
import { mayDo } from "./keys";

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  vi.stubGlobal("localStorage", { getItem: (name: string) => stored.get(name) ?? null });
});
afterEach(() => void vi.unstubAllGlobals());

const zoneNow = () => kept("zone", ["local", "utc"]).now();

test("the first value holds until another is chosen, and whatever else is stored is none", () => {
  expect(zoneNow()).toBe("local");
  stored.set("zone", "utc");
  expect(zoneNow()).toBe("utc");
  stored.set("zone", '"utc"');
  expect(zoneNow()).toBe("utc");
  stored.set("zone", "mars");
  expect(zoneNow()).toBe("local");
});

test("letters and signs do nothing once they are turned off, other keys always do", () => {
  stored.set("watchbell.single-keys", "off");
  expect(["a", "/", "?", " "].some(mayDo)).toBe(false);
  expect(["Enter", "Escape", "ArrowDown"].every(mayDo)).toBe(true);
});
