// What the screens know about API keys: whether one still works, and when a new one expires.
import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";

export type Key = Body<"KeyBody">;

export const keys = infiniteQueryOptions({
  queryKey: ["keys"],
  queryFn: ({ pageParam }) =>
    answer(api.GET("/v1/api-keys", { params: { query: { limit: 200, cursor: pageParam } } })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.next_cursor ?? undefined,
});

type KeyState = "active" | "replaced" | "revoked" | "expired";

/** A key that was rotated goes on until its end. */
export function stateOf(key: Key, now: Date): KeyState {
  if (key.revoked_at) return "revoked";
  if (key.expires_at && new Date(key.expires_at) <= now) return "expired";
  return key.replaced_by ? "replaced" : "active";
}

export const LIFETIMES = [
  { value: "", label: "Never" },
  { value: "7", label: "In a week" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

/** When a key ends that lives for so many days; never if it is not said. */
export function endOf(days: string, now: Date): string | undefined {
  return days === "" ? undefined : new Date(now.getTime() + Number(days) * 86_400_000).toISOString();
}

/** How long the old key goes on when it is rotated. */
export const OVERLAPS = [
  { value: "0", label: "It stops immediately" },
  { value: "3600", label: "For another hour" },
  { value: "86400", label: "For another day" },
  { value: "604800", label: "For another week" },
  { value: "2592000", label: "For another 30 days" },
];
