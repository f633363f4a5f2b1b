// A run as it is shown: its steps, with the approvals and alerts that belong to them.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { AuditEvent } from "../events/row";
import { rowsOf } from "./model";
import { alerts, DECISIONS_MAX, followUps, type Of, steps } from "./steps";

export function useRun(of: Of) {
  const query = useInfiniteQuery({
    ...steps(of),
    enabled: of.session_id !== undefined || of.trace_id !== undefined,
  });
  const events = useMemo(() => query.data?.pages.flatMap((page) => page.events) ?? [], [query.data]);
  const times = useMemo(() => timesOf(events), [events]);
  const decisions = useMemo(() => decisionsOf(events), [events]);
  const followed = useQuery(followUps(decisions));
  const alerted = useQuery(alerts(times));
  const rows = useMemo(() => {
    const all = new Map([...events, ...(followed.data ?? [])].map((event) => [event.id, event]));
    return rowsOf({
      events: [...all.values()],
      deliveries: alerted.data?.data ?? [],
      resolved: new Set(followed.data ? decisions : []),
    });
  }, [events, followed.data, alerted.data, decisions]);
  return {
    query,
    rows,
    times,
    steps: events.length,
    /** Whether there are later steps than those that are loaded. */
    isCut: query.data?.pages.at(-1)?.next !== undefined,
    /** What may be missing, in words. */
    gaps: [
      query.data?.pages.some(({ fresh }) => !fresh) && "The newest events may not be indexed yet.",
      followed.isError && "Approvals could not be loaded.",
      alerted.isError && "Alerts could not be loaded.",
      alerted.data?.next_cursor && "There were more than 1,000 alerts in this time; some are not shown.",
      decisions.length === DECISIONS_MAX &&
        `Approvals are shown for the first ${DECISIONS_MAX} decisions only.`,
    ].filter((gap) => typeof gap === "string"),
  };
}

/** The decisions that a run was given or names, each once. */
function decisionsOf(events: AuditEvent[]): string[] {
  const ids = events.flatMap(({ decision_id }) => decision_id ?? []);
  return [...new Set(ids)].slice(0, DECISIONS_MAX);
}

/** From the first event to just behind the last; nothing of nothing. */
function timesOf(events: AuditEvent[]): { from: string; to: string } | undefined {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return { from: first.occurred_at, to: new Date(Date.parse(last.occurred_at) + 1).toISOString() };
}
