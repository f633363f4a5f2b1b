// The run that something was a part of.

/** Where the timeline of something is; nowhere if it belongs to no session and no trace. */
export function timelineOf(part: {
  session_id?: string;
  trace_id?: string;
}): { session_id: string } | { trace_id: string } | undefined {
  if (part.session_id) return { session_id: part.session_id };
  return part.trace_id ? { trace_id: part.trace_id } : undefined;
}
