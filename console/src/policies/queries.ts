// Queries for policies, and which of them to refetch after a change.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { queries } from "../api/queries";

/** Where the policies stand: which version is in force, which is in shadow, and the settings. */
export const standing = queryOptions({
  queryKey: ["policies", "standing"],
  queryFn: () => answer(api.GET("/v1/policies")),
});

/** A version never changes. */
export function version(version: number) {
  return queryOptions({
    queryKey: ["policies", "version", version],
    queryFn: () => answer(api.GET("/v1/policies/versions/{version}", { params: { path: { version } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export const versions = infiniteQueryOptions({
  queryKey: ["policies", "versions"],
  queryFn: ({ pageParam }) => {
    const query = { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) };
    return answer(api.GET("/v1/policies/versions", { params: { query } }));
  },
  initialPageParam: "",
  getNextPageParam: (page) => page.next_cursor ?? undefined,
});

export const shadowReport = queryOptions({
  queryKey: ["policies", "shadow"],
  queryFn: () => answer(api.GET("/v1/policies/shadow")),
});

export const templates = queryOptions({
  queryKey: ["policies", "templates"],
  queryFn: () => answer(api.GET("/v1/policies/templates")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Everything that is said of policies may be another once one of them is in force. */
export function askAnew(): Promise<void> {
  return queries.invalidateQueries({ queryKey: ["policies"] });
}
