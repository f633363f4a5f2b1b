// The events of one key: the first that arrived and the newest, from the list and then live.
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { type LiveState, useLive } from "../api/live";

export interface TrailEvent {
  id: string;
  event_type: string;
  agent_id: string;
  action: string;
  result: string;
  received_at: string;
  [field: string]: unknown;
}

/** How far back an event of the key is looked for: what is older is not what somebody sends now. */
const LOOKED_BACK_MS = 86_400_000;

export interface Arrived {
  /** The one that somebody goes on with: it stays, however many follow. */
  first: TrailEvent;
  newest: TrailEvent;
}

/** What came with this key, `null` if there is nothing yet, and whether newer events are heard of. */
export function useArrived(key: string | undefined): {
  arrived: UseQueryResult<Arrived | null>;
  live: LiveState;
} {
  const client = useQueryClient();
  const queryKey = ["setup", "arrived", key];
  const before = () => client.getQueryData<Arrived | null>(queryKey);
  const arrived = useQuery({
    queryKey,
    enabled: key !== undefined,
    queryFn: async () => {
      const from = new Date(Date.now() - LOOKED_BACK_MS).toISOString();
      const query = { source: [key ?? ""], from, limit: 1 };
      const page = await answer(api.GET("/v1/audit/events", { params: { query } }));
      return withEvent(before(), (page.data as unknown as TrailEvent[])[0]);
    },
  });
  const live = useLive(key === undefined ? null : `/v1/audit/events/stream?source=${key}`, {
    // What was sent between the list and the stream is in the list by now, or will be told.
    ready: () => arrived.data ?? arrived.refetch(),
    event: (data) => void client.setQueryData(queryKey, withEvent(before(), data as TrailEvent)),
  });
  return { arrived, live };
}

/** What has arrived once this is known too; a list may know less than was heard already. */
export function withEvent(before: Arrived | null | undefined, event: TrailEvent | undefined): Arrived | null {
  if (!before) return event ? { first: event, newest: event } : null;
  return event && event.received_at >= before.newest.received_at ? { ...before, newest: event } : before;
}
