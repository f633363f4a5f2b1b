// Queries for decisions and their counts.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { Problem } from "../api/problem";
import { type Range, timesOf } from "../parts/TimeRange";
import { eventIdOf, type Filters, RESULTS } from "./model";
import { decisionOf, isDecision } from "./record";

/** What one page has: some screens full. */
const PAGE = 200;

/**
 * Only what the server wrote is a decision. It always has one of these results, and by them decisions are found without
 * reading other events.
 */
function wanted(times: { from: string; to?: string }, { q, filter, ...filters }: Filters) {
  const result = filters.result.length > 0 ? filters.result : RESULTS;
  const texts = { ...(q ? { q } : {}), ...(filter ? { filter } : {}) };
  return { ...times, ...filters, result, event_type: ["decision"], source: ["server"], ...texts };
}

/** Where the next page begins. Its times are those of the first one, however long somebody reads. */
interface Next {
  cursor: string;
  times: { from: string; to?: string };
}

export function decisions(range: Range, filters: Filters) {
  return infiniteQueryOptions({
    queryKey: ["decisions", range, filters],
    queryFn: async ({ pageParam }) => {
      const times = pageParam?.times ?? timesOf(range);
      const cursor = pageParam ? { cursor: pageParam.cursor } : {};
      const query = { ...wanted(times, filters), limit: PAGE, ...cursor };
      const page = await answer(api.GET("/v1/audit/events", { params: { query } }));
      return { ...page, data: page.data.map(decisionOf), times };
    },
    initialPageParam: undefined as Next | undefined,
    getNextPageParam: (page) =>
      page.next_cursor ? { cursor: page.next_cursor, times: page.times } : undefined,
  });
}

export function facets(range: Range, filters: Filters) {
  return queryOptions({
    queryKey: ["decision-facets", range, filters],
    queryFn: () => {
      const query = wanted(timesOf(range), filters);
      return answer(api.GET("/v1/audit/facets", { params: { query } }));
    },
    // The chart stays while another choice is counted.
    placeholderData: (before) => before,
  });
}

export function decision(id: string) {
  return queryOptions({
    queryKey: ["decision", id],
    queryFn: async () => {
      const path = { id: eventIdOf(id) };
      const event = await answer(api.GET("/v1/audit/events/{id}", { params: { path } }));
      if (!isDecision(event)) throw new Problem(404, { detail: "Your organization has no such decision." });
      return decisionOf(event);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
