// How many events match, and whether that is exact.
import { Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { absolute, useZone } from "../parts/clock";
import { number } from "../parts/numbers";
import { inAll } from "./estimate";
import type { Counts } from "./facets";
import type { useEvents } from "./list";

interface CountLineProps {
  facets: UseQueryResult<Counts>;
  events: ReturnType<typeof useEvents>;
}

export function CountLine({ facets, events }: CountLineProps) {
  const [zone] = useZone();
  const { data } = facets;
  const isBehind = data?.fresh === false || events.query.data?.pages[0]?.fresh === false;
  const since = data?.complete === false && data.counted_from;
  return (
    <Text size="sm" data-count>
      {data !== undefined ? inAll(data, "event") : facets.isError ? "Count unavailable" : "Counting…"}
      {since && <span className="quiet"> · exact since {absolute(new Date(since), zone).slice(0, 16)}</span>}
      {events.rows.length > 0 && <span className="quiet"> · {number(events.rows.length)} loaded</span>}
      {isBehind && <span className="quiet"> · the newest events may not be indexed yet</span>}
    </Text>
  );
}
