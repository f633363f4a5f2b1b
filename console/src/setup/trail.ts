// The newest event of an agent, from the list and then live.
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

/** How many are looked through for one of an agent: signing in and making keys are events too. */
const LOOKED_AT = 50;

/** People and Watchbell itself write to the trail as well; setup is about agents. */
export function isOfAnAgent(event: TrailEvent): boolean {
  return event.agent_id !== "watchbell" && !/^(usr|key)_[0-9a-z]{26}$/.test(event.agent_id);
}

/** The newest event, `null` if there is none yet, and whether newer ones are heard of. */
export function useNewestEvent(): { newest: UseQueryResult<TrailEvent | null>; live: LiveState } {
  const client = useQueryClient();
  const queryKey = ["setup", "newest event"];
  const newest = useQuery({
    queryKey,
    queryFn: async () => {
      const page = await answer(api.GET("/v1/audit/events", { params: { query: { limit: LOOKED_AT } } }));
      return (page.data as unknown as TrailEvent[]).find(isOfAnAgent) ?? null;
    },
  });
  const live = useLive("/v1/audit/events/stream", {
    // What was sent between the list and the stream is in the list by now, or will be told.
    ready: () => newest.data ?? newest.refetch(),
    event: (data) => {
      const event = data as TrailEvent;
      if (isOfAnAgent(event)) client.setQueryData(queryKey, event);
    },
  });
  return { newest, live };
}
