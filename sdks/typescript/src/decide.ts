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
  /** How long to wait for a person where a policy asks for one, in milliseconds (0: the answer is `escalate`). */
  approvalWaitMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 1_000;

/** The longest wait that the server grants at a time, and what the answer may take beyond it. */
const APPROVAL_POLL_S = 30;
const APPROVAL_POLL_GRACE_MS = 5_000;

/**
 * Asks, and asks again with the approval if a person gave one.
 *
 * `onError` is for no answer, 429 and 5xx. A question that was refused (no such key, not valid) is a mistake to mend and
 * always thrown: otherwise `allow` would let everything pass for as long as nobody looks.
 */
export async function decide(
  connection: Connection,
  { onError, timeoutMs = TIMEOUT_MS, approvalWaitMs = 0, signal, ...question }: DecisionRequest & AskOptions,
): Promise<Answer> {
  const ask = async (body: DecisionRequest): Promise<Decision> => {
    const { api, within } = connection;
    return unwrap(api.POST("/v1/runtime/decisions", { body, signal: within(signal, timeoutMs) }));
  };
  try {
    const first = await ask(question);
    const isApproved =
      first.decision === "escalate" && (await approval(connection, first, approvalWaitMs, signal));
    return isApproved ? await ask({ ...question, approval: first.decision_id }) : first;
  } catch (error) {
    const isUnanswered = error instanceof WatchbellError && error.isTransient;
    if (!isUnanswered || (onError !== "allow" && onError !== "deny")) throw error;
    return { decision: onError, reason: `Not decided: ${error.message}`, fallback: true, error };
  }
}

/** Waits for a person, for so long at most: whether they approved. */
async function approval(
  { api, within }: Connection,
  { decision_id: id }: Decision,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const late = Date.now() + waitMs;
  for (let leftMs = waitMs; leftMs > 0; leftMs = late - Date.now()) {
    const wait = Math.min(APPROVAL_POLL_S, Math.ceil(leftMs / 1000));
    const { decision } = await unwrap(
      api.GET("/v1/runtime/decisions/{id}", {
        params: { path: { id }, query: { wait } },
        signal: within(signal, wait * 1000 + APPROVAL_POLL_GRACE_MS),
      }),
    );
    if (decision !== "escalate") return decision === "allow";
  }
  return false;
}
