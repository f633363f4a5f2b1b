// Asking before a function runs, and recording what came of it.

import type { Connection } from "./connection.js";
import { type Answer, type AskOptions, type DecisionRequest, decide } from "./decide.js";
import { unwrap } from "./error.js";
import type { Recorder } from "./recorder.js";

export interface GuardOptions<P> extends Omit<AskOptions, "signal"> {
  agent_id: string;
  action: string;
  /** `type:id`. */
  resource?: string | ((payload: P) => string);
  /** What policies may look at. */
  context?: Record<string, unknown> | ((payload: P) => Record<string, unknown>);
  /** How long to wait for a person where a policy asks for one, in milliseconds (0: not at all). */
  approvalWaitMs?: number;
  /** Records each call that was made, whether it succeeded, and by which decision. */
  recorder?: Recorder;
}

/** The function did not run, because it was not allowed. */
export class NotAllowed extends Error {
  override readonly name = "NotAllowed";

  constructor(readonly answer: Answer) {
    super(`${answer.decision}: ${answer.reason}`);
  }
}

/** The longest wait that the server grants at a time, and what the answer may take beyond it. */
const APPROVAL_POLL_S = 30;
const APPROVAL_POLL_GRACE_MS = 5_000;

/**
 * The function, behind a decision: it runs if that is `allow`, with the changed payload if it is `modify`; otherwise
 * {@link NotAllowed} is thrown.
 */
export function guard<P extends object, R>(
  connection: Connection,
  run: (payload: P) => R | Promise<R>,
  options: GuardOptions<P>,
): (payload: P) => Promise<R> {
  const { agent_id, action, onError, timeoutMs, approvalWaitMs = 0, recorder } = options;
  return async (payload) => {
    const resource = typeof options.resource === "function" ? options.resource(payload) : options.resource;
    const context = typeof options.context === "function" ? options.context(payload) : options.context;
    const question: DecisionRequest = {
      agent_id,
      action,
      ...(resource !== undefined && { resource }),
      ...(context && { context }),
      payload: payload as Record<string, unknown>,
    };
    const ask = (approval?: string) =>
      decide(connection, { ...question, ...(approval && { approval }), onError, timeoutMs });

    let answer = await ask();
    if (
      answer.decision === "escalate" &&
      (await isApproved(connection, answer.decision_id, approvalWaitMs))
    ) {
      answer = await ask(answer.decision_id);
    }
    if (answer.decision === "deny" || answer.decision === "escalate") throw new NotAllowed(answer);

    const { decision_id, reason, fallback } = answer;
    const began = performance.now();
    const record = (result: "success" | "error") =>
      recorder?.record({
        event_type: "tool_call",
        agent_id,
        action,
        result,
        ...(resource !== undefined && { resource }),
        latency_ms: performance.now() - began,
        // What was done without being asked about says so.
        ...(decision_id ? { decision_id } : { metadata: { fallback, reason } }),
      });
    try {
      const returned = await run((answer.modified_payload as P | null | undefined) ?? payload);
      record("success");
      return returned;
    } catch (error) {
      record("error");
      throw error;
    }
  };
}

/** Waits for a person, for so long at most. */
async function isApproved({ api, within }: Connection, id: string, waitMs: number): Promise<boolean> {
  const late = Date.now() + waitMs;
  for (let leftMs = waitMs; leftMs > 0; leftMs = late - Date.now()) {
    const wait = Math.max(1, Math.min(APPROVAL_POLL_S, Math.ceil(leftMs / 1000)));
    const { decision } = await unwrap(
      api.GET("/v1/runtime/decisions/{id}", {
        params: { path: { id }, query: { wait } },
        signal: within(undefined, wait * 1000 + APPROVAL_POLL_GRACE_MS),
      }),
    );
    if (decision !== "escalate") return decision === "allow";
  }
  return false;
}
