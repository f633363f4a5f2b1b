// What a key means.
import { expect, test } from "vitest";
import { type Shortcut, shortcutOf } from "./keys";

const shortcut = (...keys: string[]): Shortcut => ({ keys, about: keys.join(), run: () => undefined });

test("a key is found by any of its names, and two keys one after the other", () => {
  const [next, toEvents, export_] = [shortcut("j", "ArrowDown"), shortcut("g e"), shortcut("e")];
  const all = [next, toEvents, export_];
  expect(shortcutOf(all, undefined, "ArrowDown")).toBe(next);
  expect(shortcutOf(all, undefined, "g")).toBe("first of two");
  expect(shortcutOf(all, "g", "e")).toBe(toEvents);
  expect(shortcutOf(all, undefined, "e")).toBe(export_);
  // What follows nothing known means what it means alone.
  expect(shortcutOf(all, "g", "j")).toBe(next);
  expect(shortcutOf(all, undefined, "q")).toBeUndefined();
});
