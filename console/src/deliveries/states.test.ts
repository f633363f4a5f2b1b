// Which view shows which states.
import { expect, test } from "vitest";
import { VIEWS, viewOf } from "./states";

test("a view is known by its states, in whichever order", () => {
  for (const view of VIEWS) expect(viewOf([...view.states].reverse())).toBe(view.id);
});

test("other states are no view, and are shown all the same", () => {
  expect(viewOf(["failed", "held"])).toBeUndefined();
});
