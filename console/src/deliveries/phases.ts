// Splits an attempt into phases.
import type { Body } from "../api/client";

interface Phase {
  name: string;
  /** Where it begins and how long it takes, in microseconds. */
  from: number;
  took: number;
}

const ENDS = [
  ["resolved_us", "DNS"],
  ["connected_us", "connect"],
  ["secured_us", "TLS"],
  ["sent_us", "send"],
  ["answered_us", "first byte"],
] as const;

/** The phases in order, and how long all of it took. An open connection has no DNS, connect and TLS. */
export function phasesOf(attempt: Pick<Body<"AttemptBody">, "timings" | "started_at" | "finished_at">): {
  phases: Phase[];
  total: number;
} {
  const phases: Phase[] = [];
  let from = 0;
  for (const [field, name] of ENDS) {
    const end = attempt.timings[field];
    if (end === null || end === undefined) continue;
    phases.push({ name, from, took: Math.max(end - from, 0) });
    from = Math.max(end, from);
  }
  // Times on record have milliseconds, so the whole can look shorter than its parts.
  const whole = (Date.parse(attempt.finished_at) - Date.parse(attempt.started_at)) * 1_000;
  const total = Math.max(whole, from);
  if (total > from)
    phases.push({ name: phases.length === 0 ? "no connection" : "rest", from, took: total - from });
  return { phases, total };
}
