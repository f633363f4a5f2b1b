// Asking whether an agent may do something.
import { pauseMs, sleep } from "./again.js";
import type { Connection, Schemas } from "./connection.js";
import { isObject, oddAnswer, unwrap, WatchbellError } from "./error.js";
import { recordable } from "./run.js";

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
  /**
   * How long to wait for a person where a policy asks for one, in milliseconds (0). If nobody has decided by then, the
   * answer is `escalate`.
   */
  approvalWaitMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 1_000;

/** The longest wait that the server grants at a time, and what the answer may take beyond it. */
const APPROVAL_POLL_S = 30;
const APPROVAL_POLL_GRACE_MS = 5_000;

/**
 * Asks, and asks again with the approval if a person gave one; their no is a `deny`.
 *
 * `onError` is for no answer, 429 and 5xx. A question that was refused (no such key, not valid) is a mistake to mend and
 * always thrown: otherwise `allow` would let everything pass for as long as nobody looks.
 */
export async function decide(
  connection: Connection,
  { onError, timeoutMs = TIMEOUT_MS, approvalWaitMs = 0, signal, ...asked }: DecisionRequest & AskOptions,
): Promise<Answer> {
  const ask = async (body: DecisionRequest): Promise<Answer> => {
    // What is no JSON cannot be asked, which is another mistake to mend.
    const text = JSON.stringify(body);
    try {
      const init = { body, bodySerializer: () => text, signal: connection.within(signal, timeoutMs) };
      return decisionIn(await unwrap(connection.api.POST("/v1/runtime/decisions", init), signal));
    } catch (error) {
      const isUnanswered = error instanceof WatchbellError && error.isTransient && !signal?.aborted;
      if (!isUnanswered || (onError !== "allow" && onError !== "deny")) throw error;
      return { decision: onError, reason: `Not decided: ${error.message}`, fallback: true, error };
    }
  };
  const question = { ...asked, ...recordable(asked) };
  const first = await ask(question);
  if (first.decision !== "escalate") return first;
  const approval = await resolved(connection, first, approvalWaitMs, signal);
  if (approval?.decision === "allow") return ask({ ...question, approval: first.decision_id });
  return approval ? { ...first, decision: "deny", reason: whyNot(approval), expires_at: null } : first;
}

type Approval = Schemas["Approval"];

/**
 * Waits until a person has decided, for so long at most. Trouble on the way is waited out: it says nothing about what they
 * will decide.
 */
async function resolved(
  { api, within }: Connection,
  { decision_id: id }: Decision,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Approval | undefined> {
  const late = Date.now() + waitMs;
  let failures = 0;
  for (let leftMs = waitMs; leftMs > 0; leftMs = late - Date.now()) {
    const wait = Math.min(APPROVAL_POLL_S, Math.ceil(leftMs / 1000));
    const asked = api.GET("/v1/runtime/decisions/{id}", {
      params: { path: { id }, query: { wait } },
      signal: within(signal, wait * 1000 + APPROVAL_POLL_GRACE_MS),
    });
    try {
      const approval = decisionIn(await unwrap(asked, signal));
      if (approval.decision !== "escalate") return approval;
      failures = 0;
    } catch (error) {
      if (!(error instanceof WatchbellError) || !error.isTransient) throw error;
      failures += 1;
      await sleep(Math.min(pauseMs(error, failures), late - Date.now()), signal);
    }
  }
  return undefined;
}

function whyNot({ resolution }: Approval): string {
  if (resolution?.outcome === "timed_out") return "Nobody approved it in time.";
  return resolution?.note ? `Denied by a person: ${resolution.note}` : "Denied by a person.";
}

const VERDICTS: unknown[] = ["allow", "modify", "escalate", "deny"];

/** Something else may have answered, and only what reads as a decision is one. */
function decisionIn<T>(answer: T): T {
  const { decision, decision_id, reason }: Record<string, unknown> = isObject(answer) ? answer : {};
  const isNamed = typeof decision_id === "string" && typeof reason === "string";
  if (!isNamed || !VERDICTS.includes(decision)) throw oddAnswer();
  return answer;
}
