// Loads the next page of a list when its end is near.
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { useCallback } from "react";

interface Pages {
  /** Whether there is more that comes by itself. After a failure somebody has to ask for it: see `Answered`. */
  isMore: boolean;
  onEnd: () => void;
}

/** What `Rows` needs to know of a query. `isHeld`: it shall not go on by itself for now. */
export function usePages<P>(query: UseInfiniteQueryResult<InfiniteData<P, unknown>>, isHeld = false): Pages {
  const { data, fetchNextPage, hasNextPage, isError, isFetching } = query;
  const pageCount = data?.pages.length ?? 0;
  const isMore = hasNextPage && !isError && !isHeld;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is a reason to look again whether the end is near.
  const onEnd = useCallback(() => {
    if (isMore && !isFetching) fetchNextPage();
  }, [isMore, isFetching, fetchNextPage, pageCount]);
  return { isMore, onEnd };
}
