// Queries the events of a filter, newest first, page by page while scrolling.
import { queryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api } from "../api/client";
import { usePages } from "../parts/pages";
import type { Filter } from "./filter";
import { type AuditEvent, type Row, rowOf } from "./row";

/** The first page is what is seen at once; those behind it are as large as the API gives them. */
const FIRST_PAGE = 200;
const PAGE = 1_000;
/** Nobody reads further by scrolling, and browsers cannot draw a list that is much taller. */
export const ROWS_MAX = 200_000;
/** How many pages without one match in a row are passed before the person is asked whether to go on. */
const BARREN_MAX = 5;

export interface Page {
  rows: Row[];
  next: string | null;
  /** Up to here events were looked through, if the page is not full although there may be more. */
  searchedTo: string | null;
  fresh: boolean;
  /** The second in which the server answered, by its own clock. */
  answeredAt: string | undefined;
}

async function page(filter: Filter, cursor: string | null, signal: AbortSignal): Promise<Page> {
  const query = {
    ...filter,
    limit: cursor === null ? FIRST_PAGE : PAGE,
    cursor: cursor ?? undefined,
  };
  const call = api.GET("/v1/audit/events", { params: { query }, signal });
  const got = await answer(call);
  const date = (await call).response.headers.get("date");
  return {
    rows: (got.data as unknown as AuditEvent[]).map(rowOf),
    next: got.next_cursor ?? null,
    searchedTo: got.searched_to ?? null,
    fresh: got.fresh,
    answeredAt: date === null ? undefined : new Date(date).toISOString(),
  };
}

/** `asked` is how often somebody asked anew: times that are fixed make the same filter each time. */
export function useEvents(filter: Filter, asked: number) {
  const query = useInfiniteQuery({
    queryKey: ["events", filter, asked],
    queryFn: ({ pageParam, signal }) => page(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last, pages) => (count(pages) >= ROWS_MAX ? null : last.next),
    // Asking again would ask for every page again: who wants newer events asks for a newer list.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    structuralSharing: false,
  });
  const pages = query.data?.pages;
  const rows = useMemo(() => pages?.flatMap((one) => one.rows) ?? [], [pages]);
  const { fetchNextPage, hasNextPage } = query;
  const isBarren =
    (pages ?? []).slice(-BARREN_MAX).filter((one) => one.rows.length === 0).length === BARREN_MAX;
  const searchedTo = pages?.at(-1)?.searchedTo ?? null;
  const loadedAt = pages?.[0]?.answeredAt;
  const paging = usePages(query, isBarren);
  return {
    query,
    rows,
    loadedAt,
    hasMore: hasNextPage,
    paging,
    isBarren,
    searchedTo,
    goOn: () => fetchNextPage(),
  };
}

function count(pages: Page[]): number {
  return pages.reduce((sum, one) => sum + one.rows.length, 0);
}

/** The newest events of a filter, as they are. */
export async function newest(filter: Filter): Promise<AuditEvent[]> {
  const query = { ...filter, limit: FIRST_PAGE };
  const got = await answer(api.GET("/v1/audit/events", { params: { query } }));
  return got.data as unknown as AuditEvent[];
}

/** One event, whole. It never changes. */
export function eventOf(id: string) {
  return queryOptions({
    queryKey: ["event", id],
    queryFn: () =>
      answer(
        api.GET("/v1/audit/events/{id}", { params: { path: { id } } }),
      ) as unknown as Promise<AuditEvent>,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}
