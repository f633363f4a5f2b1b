// How many events there are, and whether the count is complete.
import { Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { number, counted as said } from "../parts/numbers";
import type { Counts } from "./facets";
import type { useEvents } from "./list";

interface CountLineProps {
  facets: UseQueryResult<Counts>;
  events: ReturnType<typeof useEvents>;
}

export function CountLine({ facets, events }: CountLineProps) {
  const { data } = facets;
  const isBehind = data?.fresh === false || events.query.data?.pages[0]?.fresh === false;
  return (
    <Text size="sm" data-count>
      {data !== undefined ? counted(data) : facets.isError ? "Count unavailable" : "Counting…"}
      {events.rows.length > 0 && <span className="quiet"> · {number(events.rows.length)} loaded</span>}
      {isBehind && <span className="quiet"> · the newest events may not be indexed yet</span>}
    </Text>
  );
}

function counted({ counted, complete }: Counts): string {
  return complete ? said(counted, "event") : `Newest ${said(counted, "event")}; there may be more`;
}
