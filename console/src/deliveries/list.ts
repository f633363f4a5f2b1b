// Queries matching deliveries, newest first, page by page.
import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { type Range, timesOf } from "../parts/TimeRange";
import { USUAL } from "./states";

const PAGE = 100;

interface DeliveriesQuery {
  /** By the names that the API has for them. */
  filters: Record<string, string | undefined>;
  state: string[];
  range: Range;
}

/** Where the next page begins. Its times are those of the first one: the server takes a cursor for no others. */
interface Next {
  cursor: string;
  times: ReturnType<typeof timesOf>;
}

export function deliveries({ filters, state, range }: DeliveriesQuery) {
  return infiniteQueryOptions({
    queryKey: ["deliveries", { ...filters, state, ...range }],
    queryFn: async ({ pageParam }) => {
      const times = pageParam?.times ?? timesOf(range, USUAL);
      const query = { ...filters, ...times, state, limit: PAGE, cursor: pageParam?.cursor };
      // Repeated parameters are not in the API's description of this list.
      const page = await answer(api.GET("/v1/deliveries", { params: { query: query as never } }));
      return { ...page, times };
    },
    initialPageParam: undefined as Next | undefined,
    getNextPageParam: (page) =>
      page.next_cursor ? { cursor: page.next_cursor, times: page.times } : undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= 1 ? 10_000 : false),
  });
}
