// A link from a decision to the run that it was a part of.
import { useQuery } from "@tanstack/react-query";
import { decision as decisionQuery } from "../decisions/list";
import { eventIdOf } from "../decisions/model";
import { To } from "../parts/To";

/** Where the timeline of something is; nowhere if it belongs to no session and no trace. */
export function timelineOf(part: {
  session_id?: string;
  trace_id?: string;
}): { session_id: string } | { trace_id: string } | undefined {
  if (part.session_id) return { session_id: part.session_id };
  return part.trace_id ? { trace_id: part.trace_id } : undefined;
}

export function TimelineOf({ decision }: { decision: string }) {
  const { data } = useQuery(decisionQuery(decision));
  const address = data && timelineOf(data);
  if (address === undefined) return null;
  return (
    <To path="/timeline" with={{ ...address, event: eventIdOf(decision) }}>
      Open timeline
    </To>
  );
}
