// Answers to approvals that wait five seconds before they are sent, so that they can be taken back.
//
// Until then the server knows nothing of them: another person may answer first, and whoever closes the tab is asked by
// the browser and, if they leave, has not answered. A screen of the console can be left; its answers are sent.
import { useSyncExternalStore } from "react";
import type { Approval } from "./waiting";

/** How long an answer can be taken back. */
export const HOLD_MS = 5_000;
/** What is denied by itself sooner than this is answered at once: with the wait it would come too late. */
const TOO_CLOSE_MS = HOLD_MS + 2_000;

export type ApprovalRequest = Pick<
  Approval,
  "decision_id" | "action" | "agent_id" | "resource" | "expires_at"
>;

export interface Answer {
  approval: ApprovalRequest;
  approve: boolean;
  note?: string | undefined;
}

/** Answers that were given together, and are taken back together. */
export interface Batch {
  id: string;
  approve: boolean;
  answers: Answer[];
  /** Milliseconds since 1970. */
  sendsAt: number;
  isSending: boolean;
  /** How many of them were sent. */
  sent: number;
}

/** Sends the answers of a batch one by one, and calls `onSent` after each. */
type Send = (batch: Batch, onSent: () => void) => Promise<void>;

/** Which answers can wait, and which have to be sent now. */
export function split(answers: Answer[], now: number): { held: Answer[]; urgent: Answer[] } {
  const isUrgent = ({ approval: { expires_at } }: Answer) =>
    expires_at != null && Date.parse(expires_at) - now < TOO_CLOSE_MS;
  return {
    held: answers.filter((answer) => !isUrgent(answer)),
    urgent: answers.filter(isUrgent),
  };
}

export function batchOf(batches: Batch[], decisionId: string): Batch | undefined {
  return batches.find(({ answers }) => answers.some(({ approval }) => approval.decision_id === decisionId));
}

/** What a key answers: what is selected, but never something else than what somebody has open and reads. */
export function meantBy<R extends ApprovalRequest>(
  picked: R[],
  opened: string | undefined,
  one: R | undefined,
): R[] {
  const isReadingAnother = opened !== undefined && picked.every(({ decision_id }) => decision_id !== opened);
  if (picked.length > 0 && !isReadingAnother) return picked;
  return one ? [one] : [];
}

let batches: Batch[] = [];
let count = 0;
const watchers = new Set<() => void>();
const timers = new Map<string, { timer: ReturnType<typeof setTimeout>; send: () => void }>();

/** Keeps answers until their time has come, and then gives them to `send`; at once if they cannot wait. */
export function hold(answers: Answer[], approve: boolean, send: Send, waitMs = HOLD_MS): Batch {
  count += 1;
  const id = `answer-${count}`;
  const batch = { id, approve, answers, sendsAt: Date.now() + waitMs, isSending: false, sent: 0 };
  set([...batches, batch]);
  const change = (to: (one: Batch) => Batch) => set(batches.map((one) => (one.id === id ? to(one) : one)));
  const sendIt = async () => {
    stop(id);
    change((one) => ({ ...one, isSending: true }));
    await send(batch, () => change((one) => ({ ...one, sent: one.sent + 1 })));
    set(batches.filter((one) => one.id !== id));
  };
  if (waitMs === 0) void sendIt();
  else timers.set(id, { timer: setTimeout(sendIt, waitMs), send: sendIt });
  return batch;
}

/** Takes answers back; whether that was still possible. */
export function undo(id: string): boolean {
  if (!stop(id)) return false;
  set(batches.filter((batch) => batch.id !== id));
  return true;
}

/** Takes the answers back that were given last. */
export function undoLast(): string | undefined {
  const last = batches.findLast(({ isSending }) => !isSending);
  return last && undo(last.id) ? last.id : undefined;
}

/** Takes back whatever was not sent yet; how many answers that were. */
export function undoAll(): number {
  const undone = batches.filter(({ id }) => undo(id));
  return undone.reduce((sum, { answers }) => sum + answers.length, 0);
}

export function sendNow(id: string): void {
  timers.get(id)?.send();
}

export function current(): Batch[] {
  return batches;
}

export function useHeld(): Batch[] {
  return useSyncExternalStore(watch, current);
}

function stop(id: string): boolean {
  clearTimeout(timers.get(id)?.timer);
  return timers.delete(id);
}

function set(next: Batch[]): void {
  batches = next;
  if (batches.length > 0) globalThis.addEventListener?.("beforeunload", ask);
  else globalThis.removeEventListener?.("beforeunload", ask);
  for (const watcher of watchers) watcher();
}

/** Lets the browser ask whether to leave: what is not sent is lost. */
function ask(event: Event): void {
  event.preventDefault();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
