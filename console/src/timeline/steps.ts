// Queries the steps of a run, oldest first, and what followed from them.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { AuditEvent } from "../events/row";

/** What one page has, which is as many as the API gives. */
export const PAGE = 1_000;
/** More steps are no timeline that anybody reads: choose a trace, or less time. */
const STEPS_MAX = 2_000;
/** A page may be short before the end. So many are asked for to fill one. */
const ASKS_MAX = 5;

/** Which run: of a session or of a trace, and of what time of it. */
export interface Of {
  session_id?: string;
  trace_id?: string;
  from?: string;
  to?: string;
}

interface Page {
  events: AuditEvent[];
  next: string | undefined;
  fresh: boolean;
}

async function page({ session_id, trace_id, ...times }: Of, cursor: string | undefined): Promise<Page> {
  const of = {
    ...times,
    ...(session_id !== undefined && { session_id: [session_id] }),
    ...(trace_id !== undefined && { trace_id: [trace_id] }),
  };
  const found: Page = { events: [], next: cursor, fresh: true };
  for (let asked = 0; asked < ASKS_MAX; asked += 1) {
    const limit = PAGE - found.events.length;
    const query = { ...of, order: "asc" as const, limit, cursor: found.next };
    const got = await answer(api.GET("/v1/audit/events", { params: { query } }));
    found.events.push(...(got.data as unknown as AuditEvent[]));
    found.next = got.next_cursor ?? undefined;
    found.fresh &&= got.fresh;
    if (found.next === undefined || found.events.length >= PAGE) break;
  }
  return found;
}

export function steps(of: Of) {
  return infiniteQueryOptions({
    queryKey: ["timeline", "steps", of],
    queryFn: ({ pageParam }) => page(of, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }, pages) => (countIn(pages) < STEPS_MAX ? next : undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}

function countIn(pages: Page[]): number {
  return pages.reduce((sum, { events }) => sum + events.length, 0);
}

/** How many decisions one question names, and how many questions there are. */
const AT_A_TIME = 20;
export const DECISIONS_MAX = 100;

/** What belongs to these decisions, although it may carry no session: themselves, the ends of approvals, and calls. */
export function followUps(decisions: string[]) {
  return queryOptions({
    queryKey: ["timeline", "follow-ups", decisions],
    queryFn: async () => {
      const found: AuditEvent[] = [];
      for (let at = 0; at < decisions.length; at += AT_A_TIME) {
        const query = { decision_id: decisions.slice(at, at + AT_A_TIME), limit: 1_000 };
        const got = await answer(api.GET("/v1/audit/events", { params: { query } }));
        found.push(...(got.data as unknown as AuditEvent[]));
      }
      return found;
    },
    enabled: decisions.length > 0,
  });
}

/** Deliveries of everything in this time: what belongs to other runs is sorted out by who asks. */
export function alerts(times: { from: string; to: string } | undefined) {
  return queryOptions({
    queryKey: ["timeline", "alerts", times],
    queryFn: () => answer(api.GET("/v1/deliveries", { params: { query: { ...times, limit: 1_000 } } })),
    enabled: times !== undefined,
  });
}
