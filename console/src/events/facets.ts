// Event counts for each value, within the other filters.
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { all } from "../search";
import { type Field, type Filter, without } from "./filter";

export type Counts = Body<"Facets">;

/** The fields that the API counts by, in the order in which they are shown. */
export const COUNTED = ["result", "severity", "event_type", "agent_id", "action"] as const;
export type Counted = (typeof COUNTED)[number];

function facetsOf(filter: Filter, asked: number, every: number | false) {
  return queryOptions({
    queryKey: ["facets", filter, asked],
    queryFn: ({ signal }) => answer(api.GET("/v1/audit/facets", { params: { query: filter }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
}

/**
 * The counts of a filter. A field that is itself filtered by is counted as if it were not, so that its other values
 * can be chosen too. `asked` is how often somebody asked anew, as for the list.
 */
export function useFacets(filter: Filter, asked: number, every: number | false) {
  const query = useQuery(facetsOf(filter, asked, every));
  const chosen = COUNTED.filter((field) => filter[field as Field] !== undefined);
  const others = useQueries({
    queries: chosen.map((field) => facetsOf(without(filter, field), asked, every)),
  });
  const fieldOf = (field: Counted) => {
    const place = chosen.indexOf(field);
    const counts = place < 0 ? query.data : others[place]?.data;
    return valuesOf(field, all(filter[field]), query.data, counts);
  };
  return { query, fieldOf };
}

/** A value, how many of the counted events have it, and what was counted. */
export interface Value {
  value: string;
  count: number;
  of: Counts | undefined;
}

/**
 * The values of a field, from the counts without it. A chosen value that is not among the most frequent comes first; its
 * count is from the filter itself, and so is what that is a part of.
 */
export function valuesOf(
  field: Counted,
  chosen: string[],
  own: Counts | undefined,
  counts: Counts | undefined,
): Value[] {
  const values = counts?.fields[field] ?? [];
  const rare = chosen.filter((value) => values.every((one) => one.value !== value));
  const countOf = (value: string) => own?.fields[field].find((one) => one.value === value)?.count ?? 0;
  return [
    ...rare.map((value) => ({ value, count: countOf(value), of: own })),
    ...values.map((one) => ({ ...one, of: counts })),
  ];
}
