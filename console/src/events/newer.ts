// How many events came since the list was loaded: a small question every ten seconds, while somebody looks.
import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { Filter } from "./filter";
import type { Row } from "./row";

const ASK_EVERY_MS = 10_000;
/** As many as are counted; what is beyond is "more". */
export const NEWER_MAX = 50;

/** `first` is the newest event of the list, from which on is looked. */
export function useNewer(filter: Filter, first: Row | undefined, isOn: boolean): number {
  const { data } = useQuery({
    queryKey: ["newer", filter, first?.id],
    queryFn: async ({ signal }) => {
      const query = { ...filter, from: first?.occurred_at ?? filter.from, limit: NEWER_MAX + 1 };
      const got = await answer(api.GET("/v1/audit/events", { params: { query }, signal }));
      return newerThan(
        got.data.map(({ id }) => id),
        first?.id,
      );
    },
    enabled: isOn,
    // The list itself has just been asked for.
    initialData: 0,
    staleTime: ASK_EVERY_MS,
    refetchInterval: ASK_EVERY_MS,
    gcTime: 0,
    retry: false,
  });
  return isOn ? data : 0;
}

/** How many stand before the one that is known, newest first. */
export function newerThan(ids: string[], known: string | undefined): number {
  const at = known === undefined ? -1 : ids.indexOf(known);
  return at < 0 ? ids.length : at;
}

export function inWords(count: number): string {
  if (count > NEWER_MAX) return `More than ${NEWER_MAX} new events`;
  return count === 1 ? "1 new event" : `${count} new events`;
}
