// The values of each field with their event counts; a click filters by one.
import { Checkbox, Skeleton, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { Trouble } from "../parts/Answered";
import { number } from "../parts/numbers";
import type { Search } from "../search";
import { all } from "../search";
import classes from "./Events.module.css";
import { COUNTED, type Counted, type Counts } from "./facets";
import { NAMES } from "./filter";

interface FacetListProps {
  query: UseQueryResult<Counts>;
  fieldOf: (field: Counted) => { value: string; count: number }[];
  search: Search;
  onToggle: (field: Counted, value: string) => void;
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function FacetList({ query, fieldOf, search, onToggle }: FacetListProps) {
  if (query.isError)
    return <Trouble error={query.error} again={() => query.refetch()} stale={!!query.data} />;
  if (query.data === undefined) return <Skeleton height={420} />;
  return (
    <Stack gap="md">
      {COUNTED.map((field) => {
        const counted = fieldOf(field);
        const chosen = all(search[field]);
        const missing = chosen.filter((value) => counted.every((one) => one.value !== value));
        const values = [...missing.map((value) => ({ value, count: 0 })), ...counted];
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
            {values.map(({ value, count }) => (
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
                    <span className="truncate" title={value}>
                      {value}
                    </span>
                    <span className="quiet">{short.format(count)}</span>
                  </span>
                }
              />
            ))}
          </section>
        );
      })}
      {!query.data.complete && (
        <Text size="xs" className="quiet">
          Counts cover only the newest {number(query.data.counted)} events in this range. Narrow the range for
          exact counts.
        </Text>
      )}
    </Stack>
  );
}
