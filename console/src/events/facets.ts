// Event counts for each value, within the other filters.
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { all } from "../search";
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
 * can be chosen too. A chosen value that is not among the most frequent comes first, with its own count.
 */
export function useFacets(filter: Filter, every: number | false) {
  const query = useQuery(facetsOf(filter, every));
  const chosen = COUNTED.filter((field) => filter[field as Field] !== undefined);
  const others = useQueries({ queries: chosen.map((field) => facetsOf(without(filter, field), every)) });
  const fieldOf = (field: Counted) => {
    const place = chosen.indexOf(field);
    const counts = place < 0 ? query.data : others[place]?.data;
    const values = counts?.fields[field] ?? [];
    const isRare = (value: string) => values.every((one) => one.value !== value);
    const rare = all(filter[field]).filter(isRare);
    const own = query.data?.fields[field] ?? [];
    const countOf = (value: string) => own.find((one) => one.value === value)?.count ?? 0;
    return { counts, values: [...rare.map((value) => ({ value, count: countOf(value) })), ...values] };
  };
  return { query, fieldOf };
}
