// When a rule that is being written is counted.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PAUSE_MS, paced } from "./last24h";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first valid rule is counted at once, later ones when nobody types anymore", () => {
  const asked: string[] = [];
  const hear = paced((text) => asked.push(text));
  // While the rule is not valid there is no text.
  let takeBack = hear("");
  const change = (text: string) => {
    takeBack();
    takeBack = hear(text);
  };
  change("first");
  expect(asked).toEqual(["first"]);

  change("second");
  vi.advanceTimersByTime(PAUSE_MS - 1);
  change("third");
  vi.advanceTimersByTime(PAUSE_MS - 1);
  expect(asked).toEqual(["first"]);
  vi.advanceTimersByTime(1);
  expect(asked).toEqual(["first", "third"]);

  change("fourth");
  change("");
  vi.advanceTimersByTime(PAUSE_MS);
  expect(asked).toEqual(["first", "third"]);
});
