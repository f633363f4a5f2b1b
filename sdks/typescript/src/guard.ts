// Asking before a function runs, and recording what came of it.

import type { Connection } from "./connection.js";
import { type Answer, type AskOptions, decide } from "./decide.js";
import { isObject } from "./error.js";
import type { Recorder } from "./recorder.js";
import { type RunIds, recordable } from "./run.js";

export interface GuardOptions<P> extends Omit<AskOptions, "signal"> {
  agent_id: string;
  action: string;
  /** `type:id`. */
  resource?: OfPayload<P, string>;
  /** What policies may look at beside the payload (`context.payload`); it is recorded. */
  context?: OfPayload<P, Record<string, unknown>>;
  /**
   * The agent's session, which ties the decision and the recorded call to its other events. So do the next two. An empty
   * id is none; one of more than 128 characters is shortened.
   */
  session_id?: OfPayload<P, RunIds["session_id"]>;
  trace_id?: OfPayload<P, RunIds["trace_id"]>;
  span_id?: OfPayload<P, RunIds["span_id"]>;
  /** Records each call by its decision: whether it succeeded, or was `denied`. */
  recorder?: Recorder;
}

/** A value, or a function that makes it of the payload at each call. */
export type OfPayload<P, T> = T | ((payload: P) => T);

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
    const of = <T>(given: OfPayload<P, T>): T =>
      typeof given === "function" ? (given as (payload: P) => T)(payload) : given;
    const runIds = recordable({
      session_id: of(options.session_id),
      trace_id: of(options.trace_id),
      span_id: of(options.span_id),
    });
    const about = { agent_id, action, resource: of(options.resource), ...runIds };
    const context = of(options.context);
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
