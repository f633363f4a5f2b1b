// Which event setup goes on with.
import { expect, test } from "vitest";
import { type TrailEvent, withEvent } from "./trail";

const event = (id: string, received_at: string) => ({ id, received_at }) as unknown as TrailEvent;

test("the first event stays while others follow, and is never lost to a list without it", () => {
  const [one, two] = [event("1", "2026-11-15T10:00:00.000Z"), event("2", "2026-11-15T10:00:01.000Z")];
  expect(withEvent(undefined, undefined)).toBeNull();
  const first = withEvent(null, one);
  expect(first).toEqual({ first: one, newest: one });
  expect(withEvent(first, undefined)).toBe(first);
  const both = withEvent(first, two);
  expect(both).toEqual({ first: one, newest: two });
  expect(withEvent(both, one)).toBe(both);
});
