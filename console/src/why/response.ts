// What a receiver answered, in one line.
import type { Body } from "../api/client";
import { duration } from "../parts/clock";

/** Of a body as much as fits a line. */
const SHOWN_CHARS = 120;

/** Such as `503 after 31 ms: “try again later”`. */
export function responseOf(attempt: Body<"AttemptBody">): string {
  const took = duration(Date.parse(attempt.finished_at) - Date.parse(attempt.started_at));
  if (attempt.status == null) return attempt.error ?? `No response after ${took}`;
  const text = attempt.answer.replace(/\s+/g, " ").trim();
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  return `${attempt.status} after ${took}${shown === "" ? "" : `: “${shown}”`}`;
}
