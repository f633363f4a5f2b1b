// What the four numbers mean, in words, and whether someone should take a look.
import type { Body } from "../api/client";
import { duration } from "../parts/clock";
import { number as count, counted } from "../parts/numbers";

export type Overview = Body<"Overview">;

/** `none`: there is nothing to judge. */
export type Grade = "good" | "warn" | "bad" | "none";

export interface Judged {
  /** The number, as it is shown. */
  value: string;
  grade: Grade;
  /** What it means, in a word or two. */
  verdict: string;
  /** What else is worth knowing. */
  note: string;
}

/** Agents are seldom quiet for so long while they work. */
const QUIET_MS = 15 * 60_000;
/** The shares of deliveries, in percent, below which some or many fail. */
const SOME_FAIL = 99.5;
const MANY_FAIL = 95;
/** Retries begin after seconds; what is older than this has failed several times, then for long. */
const LATE_MS = 5 * 60_000;
const STUCK_MS = 60 * 60_000;
/** Agents wait for a decision before they act: at this they begin to feel it, and then to time out. */
const SLOW_US = 25_000;
const TOO_SLOW_US = 250_000;

/** `rate`: events a second of the last minute or two, if known. */
export function ingest(overview: Overview, rate: number | undefined, now: Date): Judged {
  const { total, last_at } = overview.events;
  const seconds = (Date.parse(overview.to) - Date.parse(overview.from)) / 1_000;
  const average = seconds > 0 ? total / seconds : 0;
  const value = rate === undefined ? "…" : perSecond(rate);
  const note = `${counted(total, "event")} in this period, ${perSecond(average)} on average.`;
  if (!last_at) return { value, grade: "none", verdict: "No events", note: "No events have arrived yet." };
  const quiet = now.getTime() - Date.parse(last_at);
  if (quiet > QUIET_MS) return { value, grade: "warn", verdict: `Quiet for ${duration(quiet)}`, note };
  return { value, grade: "good", verdict: "Arriving", note };
}

/** Of deliveries that should have arrived by now: what is held or overdue has not, however long it is retried. */
export function success({ deliveries }: Overview): Judged {
  const { delivered, failed, pending, held, overdue, canceled, complete } = deliveries;
  const over = delivered + failed + held + overdue;
  const onTheirWay = pending - held - overdue;
  const parts = [`${count(delivered)} delivered`, `${count(failed)} failed`];
  if (held > 0) parts.push(`${count(held)} held`);
  if (overdue > 0) parts.push(`${count(overdue)} overdue`);
  if (onTheirWay > 0) parts.push(`${count(onTheirWay)} in progress`);
  if (canceled > 0) parts.push(`${count(canceled)} canceled`);
  const note = `${parts.join(", ")}${complete ? "" : " (newest deliveries only)"}.`;
  if (over === 0) return { value: "–", grade: "none", verdict: "Nothing delivered yet", note };
  const percent = (100 * delivered) / over;
  const value = `${percent === 100 ? "100" : (Math.floor(percent * 10) / 10).toFixed(1)}%`;
  if (percent < MANY_FAIL) return { value, grade: "bad", verdict: "Failing", note };
  if (percent < SOME_FAIL) return { value, grade: "warn", verdict: "Degraded", note };
  if (held + overdue > 0) return { value, grade: "warn", verdict: "At risk", note };
  return { value, grade: "good", verdict: "Healthy", note };
}

export function undelivered({ deliveries }: Overview, now: Date): Judged {
  const oldest = deliveries.oldest_undelivered;
  if (!oldest) return { value: "none", grade: "good", verdict: "All delivered", note: "Nothing is pending." };
  const age = Math.max(0, now.getTime() - Date.parse(oldest.matched_at));
  const value = duration(age);
  const note = "Time since its event matched a rule. Watchbell retries for up to 3 days.";
  if (age > STUCK_MS) return { value, grade: "bad", verdict: "Stuck", note };
  if (age > LATE_MS) return { value, grade: "warn", verdict: "Late", note };
  if (deliveries.held > 0) {
    return { value, grade: "warn", verdict: "Held", note: `${count(deliveries.held)} held. ${note}` };
  }
  return { value, grade: "good", verdict: "In progress", note };
}

export function decisions({ decisions }: Overview): Judged {
  const { p99_us, p50_us, measured, total, denied, complete } = decisions;
  const of = complete
    ? counted(total, "decision")
    : `the newest ${count(measured)} of ${count(total)} decisions`;
  if (p99_us === null || p99_us === undefined) {
    return { value: "–", grade: "none", verdict: "No decisions", note: "No agent asked in this period." };
  }
  const half = p50_us === null || p50_us === undefined ? "" : `, half ${duration(p50_us / 1_000)} or less`;
  const note = `99% took this long or less${half}. Denied: ${count(denied)} of ${of}.`;
  const value = duration(p99_us / 1_000);
  if (p99_us > TOO_SLOW_US) return { value, grade: "bad", verdict: "Too slow", note };
  if (p99_us > SLOW_US) return { value, grade: "warn", verdict: "Slow", note };
  return { value, grade: "good", verdict: "Fast", note };
}

/** Such as `12/s`, or `3/min` where that says more. */
export function perSecond(rate: number): string {
  if (rate === 0) return "0/s";
  if (rate >= 100) return `${count(Math.round(rate))}/s`;
  if (rate >= 0.1) return `${rate.toFixed(1)}/s`;
  return `${(rate * 60).toFixed(1)}/min`;
}
