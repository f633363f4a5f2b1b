// Asking before a function runs, and recording what came of it.

import type { Connection } from "./connection.js";
import { type Answer, type AskOptions, decide } from "./decide.js";
import type { Recorder } from "./recorder.js";

export interface GuardOptions<P> extends Omit<AskOptions, "signal"> {
  agent_id: string;
  action: string;
  /** `type:id`. */
  resource?: string | ((payload: P) => string);
  /** What policies may look at. */
  context?: Record<string, unknown> | ((payload: P) => Record<string, unknown>);
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

/**
 * The function, behind a decision: it runs if that is `allow`, with the changed payload if it is `modify`; otherwise
 * {@link NotAllowed} is thrown.
 */
export function guard<P extends object, R>(
  connection: Connection,
  run: (payload: P) => R | Promise<R>,
  options: GuardOptions<P>,
): (payload: P) => Promise<R> {
  const { agent_id, action, onError, timeoutMs, approvalWaitMs, recorder } = options;
  return async (payload) => {
    const resource = typeof options.resource === "function" ? options.resource(payload) : options.resource;
    const context = typeof options.context === "function" ? options.context(payload) : options.context;
    const answer = await decide(connection, {
      agent_id,
      action,
      ...(resource !== undefined && { resource }),
      ...(context && { context }),
      payload: payload as Record<string, unknown>,
      onError,
      timeoutMs,
      approvalWaitMs,
    });
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
