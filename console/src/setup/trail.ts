// The newest event of one key, from the list and then live.
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

/** The newest event that came with this key, `null` if there is none yet, and whether newer ones are heard of. */
export function useNewestEvent(key: string | undefined): {
  newest: UseQueryResult<TrailEvent | null>;
  live: LiveState;
} {
  const client = useQueryClient();
  const queryKey = ["setup", "newest event", key];
  const newest = useQuery({
    queryKey,
    enabled: key !== undefined,
    queryFn: async () => {
      const from = new Date(Date.now() - LOOKED_BACK_MS).toISOString();
      const query = { source: [key ?? ""], from, limit: 1 };
      const page = await answer(api.GET("/v1/audit/events", { params: { query } }));
      return (page.data as unknown as TrailEvent[])[0] ?? null;
    },
  });
  const live = useLive(key === undefined ? null : `/v1/audit/events/stream?source=${key}`, {
    // What was sent between the list and the stream is in the list by now, or will be told.
    ready: () => newest.data ?? newest.refetch(),
    event: (data) => void client.setQueryData(queryKey, data as TrailEvent),
  });
  return { newest, live };
}
