// The queue of pending approvals: loaded once, then kept up to date by a stream.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { type LiveState, useLive } from "../api/live";
import { queries } from "../api/queries";

export type Approval = Body<"Approval">;

/** What one page of the queue may have. Whoever has more waiting sees the oldest, which end first. */
const SHOWN_MAX = 200;
/** How often the menu counts where no stream tells: nobody waits for the number in the menu. */
const COUNT_EVERY_MS = 30_000;

const queueKey = ["approvals", "waiting"];

export const queue = queryOptions({
  queryKey: queueKey,
  queryFn: () => answer(api.GET("/v1/runtime/approvals", { params: { query: { limit: SHOWN_MAX } } })),
});

/** One of them, with all that was asked. */
export function approval(id: string) {
  return queryOptions({
    queryKey: ["approvals", "one", id],
    queryFn: () => answer(api.GET("/v1/runtime/approvals/{id}", { params: { path: { id } } })),
  });
}

/** How many wait, for the menu and the window's title, which is seen while another window is in front. */
export function useWaitingCount(): string {
  const { data } = useQuery({
    ...queue,
    refetchInterval: COUNT_EVERY_MS,
    refetchIntervalInBackground: true,
  });
  return data ? waitingCount(data) : "";
}

/** Such as `3`, or `200+` if there are more than one page has; nothing if nobody waits. */
export function waitingCount({
  data,
  next_cursor,
}: Pick<Body<"ApprovalPage">, "data" | "next_cursor">): string {
  return data.length === 0 ? "" : `${data.length}${next_cursor ? "+" : ""}`;
}

/** How often the queue is asked for on its own screen: what came just before the stream did is in no news. */
const CHECK_EVERY_MS = 10_000;

/** The queue with what the server tells of it. */
export function useQueue() {
  const query = useQuery({ ...queue, refetchInterval: CHECK_EVERY_MS });
  const live = useLive(query.data ? "/v1/runtime/approvals/stream" : null, {
    // What happened before it was connected, or while it was not, nobody tells.
    ready: () => void queries.invalidateQueries({ queryKey: queueKey }),
    approval: (news) => hear(news as Approval),
  });
  return { query, live: live satisfies LiveState };
}

/** Takes in that something is asked for or has ended. */
export function hear(news: Approval): void {
  queries.setQueryData(queue.queryKey, (page) => page && { ...page, data: taken(page.data, news) });
  if (news.resolution) void queries.invalidateQueries({ queryKey: ["approvals", "one", news.decision_id] });
}

/** The queue after some news: oldest first, without what has ended. */
export function taken(waiting: Approval[], news: Approval): Approval[] {
  const others = waiting.filter(({ decision_id }) => decision_id !== news.decision_id);
  if (news.resolution) return others;
  return [...others, news].sort((a, b) => a.decided_at.localeCompare(b.decided_at));
}

/** How long there is until something is denied by itself, such as `4:05`; nothing once it is over. */
export function timeLeft(until: string, now: Date): string | undefined {
  const seconds = Math.ceil((Date.parse(until) - now.getTime()) / 1_000);
  if (seconds <= 0) return undefined;
  if (seconds >= 86_400)
    return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
  const two = (count: number) => String(count).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const rest = two(seconds % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}
