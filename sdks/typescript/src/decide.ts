// Asking whether an agent may do something.
import type { Connection, Schemas } from "./connection.js";
import { unwrap, WatchbellError } from "./error.js";

/** What an agent wants to do. */
export type DecisionRequest = Schemas["DecisionRequest"];
/** What was decided. */
export type Decision = Schemas["Decision"];

/** What to do when nobody answers: take it for a `deny`, for an `allow`, or throw. */
export type FailMode = "deny" | "allow" | "throw";

/** What stands in for a decision that nobody gave. */
export interface Unanswered {
  decision: "deny" | "allow";
  reason: string;
  fallback: true;
  decision_id?: undefined;
  modified_payload?: undefined;
  /** Why there is no decision. */
  error: WatchbellError;
}

export type Answer = (Decision & { error?: undefined }) | Unanswered;

export interface AskOptions {
  /** There is no default: only you know which is worse, an agent that stops or one that goes on unasked. */
  onError: FailMode;
  /** How long an answer may take, in milliseconds (1,000). */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 1_000;

/**
 * Asks once.
 *
 * `onError` is for no answer, 429 and 5xx. A question that was refused (no such key, not valid) is a mistake to mend and
 * always thrown: otherwise `allow` would let everything pass for as long as nobody looks.
 */
export async function decide(
  { api, within }: Connection,
  { onError, timeoutMs = TIMEOUT_MS, signal, ...question }: DecisionRequest & AskOptions,
): Promise<Answer> {
  try {
    const asked = api.POST("/v1/runtime/decisions", { body: question, signal: within(signal, timeoutMs) });
    return await unwrap(asked);
  } catch (error) {
    const isUnanswered = error instanceof WatchbellError && error.isTransient;
    if (!isUnanswered || (onError !== "allow" && onError !== "deny")) throw error;
    return { decision: onError, reason: `Not decided: ${error.message}`, fallback: true, error };
  }
}
