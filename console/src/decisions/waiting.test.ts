// How the queue of approvals is kept up to date.
import { expect, test } from "vitest";
import { type Approval, taken, timeLeft, waitingCount } from "./waiting";

function asked(decision_id: string, decided_at: string, outcome?: string): Approval {
  const resolution = outcome ? { outcome, at: decided_at } : null;
  return { decision_id, decided_at, resolution } as unknown as Approval;
}

test("what is asked joins the queue once, oldest first, and what has ended leaves it", () => {
  const [first, second] = [asked("dec_1", "2026-11-15T10:00:00Z"), asked("dec_2", "2026-11-15T10:00:01Z")];
  expect(taken([second], first)).toEqual([first, second]);
  expect(taken([first, second], second)).toEqual([first, second]);
  expect(taken([first, second], asked("dec_1", "2026-11-15T10:00:00Z", "approved"))).toEqual([second]);
});

test("the number that waits says when there are more than it counted", () => {
  const one = asked("dec_1", "2026-11-15T10:00:00Z");
  expect(waitingCount({ data: [], next_cursor: null })).toBe("");
  expect(waitingCount({ data: [one], next_cursor: null })).toBe("1");
  expect(waitingCount({ data: [one, one], next_cursor: "x" })).toBe("2+");
});

test("the time that is left is counted in what people count in", () => {
  const now = new Date("2026-11-15T10:00:00Z");
  expect(timeLeft("2026-11-15T10:04:05Z", now)).toBe("4:05");
  expect(timeLeft("2026-11-15T12:04:05Z", now)).toBe("2:04:05");
  expect(timeLeft("2026-11-17T12:00:00Z", now)).toBe("2 d 2 h");
  expect(timeLeft("2026-11-15T10:00:00Z", now)).toBeUndefined();
});
