// The values of each field with their event counts; a click filters by one.
import { Checkbox, Skeleton, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Trouble } from "../parts/Answered";
import { absolute, useZone } from "../parts/clock";
import type { Search } from "../search";
import { all } from "../search";
import classes from "./Events.module.css";
import { inOrder, shown } from "./estimate";
import { COUNTED, type Counted, type Counts, type Value } from "./facets";
import { NAMES } from "./filter";
import { useValueName } from "./valueName";

interface FacetListProps {
  query: UseQueryResult<Counts>;
  fieldOf: (field: Counted) => Value[];
  search: Search;
  onToggle: (field: Counted, value: string) => void;
}

export function FacetList({ query, fieldOf, search, onToggle }: FacetListProps) {
  if (query.isError)
    return <Trouble error={query.error} again={() => query.refetch()} stale={!!query.data} />;
  if (query.data === undefined) return <Skeleton height={420} />;
  return (
    <Stack gap="md">
      {COUNTED.map((field) => {
        const chosen = all(search[field]);
        const values = inOrder(field, fieldOf(field));
        return (
          <section key={field} aria-label={NAMES[field]}>
            <Text size="xs" fw={650} className="quiet" mb={4}>
              {NAMES[field]}
            </Text>
            {values.length === 0 && (
              <Text size="xs" className="quiet">
                None
              </Text>
            )}
            {values.map(({ value, count, of }) => (
              <Checkbox
                key={value}
                size="xs"
                classNames={{
                  body: classes.facet,
                  labelWrapper: classes.facetLabel,
                  label: classes.facetLabel,
                }}
                checked={chosen.includes(value)}
                onChange={() => onToggle(field, value)}
                label={
                  <span className={classes.facetText}>
                    <Named field={field} value={value} search={search} />
                    <span className="quiet">{of && shown(count, of)}</span>
                  </span>
                }
              />
            ))}
          </section>
        );
      })}
      <Inexact counts={query.data} />
    </Stack>
  );
}

function Named({ field, value, search }: { field: Counted; value: string; search: Search }) {
  return (
    <span className="truncate" title={value}>
      {useValueName(field, value, search)}
    </span>
  );
}

/** Why some counts are not exact, and what makes them so. */
function Inexact({ counts: { complete, exact, counted_from: since } }: { counts: Counts }) {
  const [zone] = useZone();
  if (exact) return null;
  return (
    <Text size="xs" className="quiet">
      {complete
        ? "Counts with ≈ are approximate: there was too much to count exactly. "
        : `Counts with ≈ are estimates: only events since ${since && absolute(new Date(since), zone).slice(0, 16)} were counted. `}
      Narrow the time range or add a filter for exact counts.
    </Text>
  );
}
