// How long an answer can be taken back.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  type Answer,
  type Batch,
  batchOf,
  current,
  HOLD_MS,
  hold,
  meantBy,
  sendNow,
  split,
  undo,
  undoAll,
  undoLast,
} from "./held";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function answer(decision_id: string, expires_at: string | null = null): Answer {
  const approval = { decision_id, action: "refunds.create", agent_id: "a", resource: null, expires_at };
  return { approval, approve: true };
}

test("an answer is sent after five seconds, or at once if somebody says so, and only once", async () => {
  const sent: Batch[] = [];
  const send = async (batch: Batch) => void sent.push(batch);
  const first = hold([answer("dec_1"), answer("dec_2")], true, send);
  vi.advanceTimersByTime(HOLD_MS - 1);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([first]);
  expect(undo(first.id)).toBe(false);
  const second = hold([answer("dec_3")], false, send);
  sendNow(second.id);
  vi.advanceTimersByTime(HOLD_MS);
  expect(sent).toEqual([first, second]);
});

test("an answer that was taken back is never sent", () => {
  const send = vi.fn(async () => undefined);
  const batch = hold([answer("dec_1")], true, send);
  expect(undoLast()).toBe(batch.id);
  expect(undoLast()).toBeUndefined();
  vi.advanceTimersByTime(2 * HOLD_MS);
  expect(send).not.toHaveBeenCalled();
});

test("what cannot wait is sent at once, and nobody can answer it a second time meanwhile", async () => {
  let arrive = () => {};
  const batch = hold([answer("dec_9")], true, () => new Promise((done) => (arrive = done)), 0);
  expect(undo(batch.id)).toBe(false);
  expect(undoAll()).toBe(0);
  expect(batchOf(current(), "dec_9")?.isSending).toBe(true);
  arrive();
  await vi.advanceTimersByTimeAsync(0);
  expect(batchOf(current(), "dec_9")).toBeUndefined();
});

test("whoever signs out takes back all that was not sent", () => {
  const send = vi.fn(async () => undefined);
  hold([answer("dec_1"), answer("dec_2")], true, send);
  hold([answer("dec_3")], false, send);
  expect(undoAll()).toBe(3);
  vi.advanceTimersByTime(2 * HOLD_MS);
  expect(send).not.toHaveBeenCalled();
});

test("a key answers what is selected, but never something else than what is open", () => {
  const [one, two] = [answer("dec_1").approval, answer("dec_2").approval];
  expect(meantBy([one], undefined, two)).toEqual([one]);
  expect(meantBy([one], "dec_2", two)).toEqual([two]);
  expect(meantBy([one, two], "dec_2", two)).toEqual([one, two]);
  expect(meantBy([], undefined, undefined)).toEqual([]);
});

test("what would be denied before its answer is sent is answered at once", () => {
  const now = Date.parse("2026-11-15T10:00:00Z");
  const [soon, later] = [answer("dec_1", "2026-11-15T10:00:06Z"), answer("dec_2", "2026-11-15T10:01:00Z")];
  expect(split([soon, later], now)).toEqual({ held: [later], urgent: [soon] });
});
