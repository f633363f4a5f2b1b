// How many events came since the list was loaded: a small question every ten seconds, while somebody looks.
import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { Filter } from "./filter";
import type { Row } from "./row";

const ASK_EVERY_MS = 10_000;
/** As many as are counted; what is beyond is "more". */
const NEWER_MAX = 50;

/** `loadedAt` is the second in which the list was loaded, by the server's clock. */
export function useNewer(filter: Filter, loadedAt: string | undefined, rows: Row[], isOn: boolean): number {
  const { data } = useQuery({
    queryKey: ["newer", filter, loadedAt],
    queryFn: async ({ signal }) => {
      const query = { ...filter, filter: since(filter.filter, loadedAt ?? ""), limit: NEWER_MAX + 1 };
      const got = await answer(api.GET("/v1/audit/events", { params: { query }, signal }));
      return newIn(
        got.data.map(({ id }) => id),
        rows,
      );
    },
    enabled: isOn && loadedAt !== undefined,
    // The list itself has just been asked for.
    initialData: 0,
    staleTime: ASK_EVERY_MS,
    refetchInterval: ASK_EVERY_MS,
    gcTime: 0,
    retry: false,
  });
  return isOn ? data : 0;
}

/** By when events came, not by when they happened: what comes late has its place further down in the list. */
export function since(query: string | undefined, loadedAt: string): string {
  return `${query ?? ""} received_at:>=${loadedAt}`.trim();
}

/** How many the list does not have. Some of the second in which it was loaded are in it. */
export function newIn(ids: string[], rows: { id: string }[]): number {
  const known = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !known.has(id)).length;
}

export function inWords(count: number): string {
  if (count > NEWER_MAX) return `More than ${NEWER_MAX} new events`;
  return count === 1 ? "1 new event" : `${count} new events`;
}
