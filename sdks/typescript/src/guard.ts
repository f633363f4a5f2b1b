// Asking before a function runs, and recording what came of it.

import type { Connection } from "./connection.js";
import { type Answer, type AskOptions, decide } from "./decide.js";
import { isObject } from "./error.js";
import type { Recorder } from "./recorder.js";

export interface GuardOptions<P> extends Omit<AskOptions, "signal"> {
  agent_id: string;
  action: string;
  /** `type:id`. */
  resource?: string | ((payload: P) => string);
  /** What policies may look at beside the payload (`context.payload`); it is recorded. */
  context?: Record<string, unknown> | ((payload: P) => Record<string, unknown>);
  /** The agent's session, which ties the decision and the recorded call to its other events. So do the next two. */
  session_id?: RunId<P>;
  trace_id?: RunId<P>;
  span_id?: RunId<P>;
  /** Records each call by its decision: whether it succeeded, or was `denied`. */
  recorder?: Recorder;
}

/** An id of the agent's run, or a function that says which one it is now. */
export type RunId<P> = string | ((payload: P) => string | undefined);

/** The function did not run, because it was not allowed. */
export class Denied extends Error {
  override readonly name = "Denied";

  constructor(readonly decision: Answer) {
    super(`${decision.decision}: ${decision.reason}`);
  }
}

/**
 * The function, behind a decision: it runs if that is `allow`, with the changed payload if it is `modify`; otherwise
 * {@link Denied} is thrown.
 */
export function guard<P extends object, R>(
  connection: Connection,
  run: (payload: P) => R | Promise<R>,
  options: GuardOptions<P>,
): (payload: P) => Promise<R> {
  const { agent_id, action, onError, timeoutMs, approvalWaitMs, recorder } = options;
  return async (payload) => {
    const current = (id: RunId<P> | undefined) => (typeof id === "function" ? id(payload) : id);
    const resource = current(options.resource);
    const session_id = current(options.session_id);
    const trace_id = current(options.trace_id);
    const span_id = current(options.span_id);
    const about = {
      agent_id,
      action,
      ...(resource !== undefined && { resource }),
      ...(session_id !== undefined && { session_id }),
      ...(trace_id !== undefined && { trace_id }),
      ...(span_id !== undefined && { span_id }),
    };
    const context = typeof options.context === "function" ? options.context(payload) : options.context;
    const answer = await decide(connection, {
      ...about,
      ...(context && { context }),
      payload: payload as Record<string, unknown>,
      onError,
      timeoutMs,
      approvalWaitMs,
    });

    const { decision_id, reason, fallback } = answer;
    const record = (result: "success" | "error" | "denied", latency_ms?: number) =>
      recorder?.record({
        ...about,
        event_type: "tool_call",
        result,
        ...(latency_ms !== undefined && { latency_ms }),
        ...(decision_id && { decision_id }),
        // What nobody decided says so.
        ...(fallback && { metadata: { fallback, reason } }),
      });

    const allowed = allowedPayload(answer, payload);
    if (allowed === undefined) {
      record("denied");
      throw new Denied(answer);
    }
    const began = performance.now();
    try {
      const returned = await run(allowed);
      record("success", performance.now() - began);
      return returned;
    } catch (error) {
      record("error", performance.now() - began);
      throw error;
    }
  };
}

/** What the function may be called with, if it may. Anything but a clear yes is a no. */
function allowedPayload<P>({ decision, modified_payload }: Answer, payload: P): P | undefined {
  if (decision === "allow") return payload;
  return decision === "modify" && isObject(modified_payload) ? (modified_payload as P) : undefined;
}
