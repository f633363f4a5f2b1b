// Event counts for each value, within the other filters.
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { type Field, type Filter, without } from "./filter";

export type Counts = Body<"Facets">;

/** The fields that the API counts by, in the order in which they are shown. */
export const COUNTED = ["result", "severity", "event_type", "agent_id", "action"] as const;
export type Counted = (typeof COUNTED)[number];

function facetsOf(filter: Filter, every: number | false) {
  return queryOptions({
    queryKey: ["facets", filter],
    queryFn: ({ signal }) => answer(api.GET("/v1/audit/facets", { params: { query: filter }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
}

/**
 * The counts of a filter. A field that is itself filtered by is counted as if it were not, so that its other values
 * can be chosen too.
 */
export function useFacets(filter: Filter, every: number | false) {
  const query = useQuery(facetsOf(filter, every));
  const chosen = COUNTED.filter((field) => filter[field as Field] !== undefined);
  const others = useQueries({ queries: chosen.map((field) => facetsOf(without(filter, field), every)) });
  const fieldOf = (field: Counted) => {
    const place = chosen.indexOf(field);
    return (place < 0 ? query.data : others[place]?.data)?.fields[field] ?? [];
  };
  return { query, fieldOf };
}
