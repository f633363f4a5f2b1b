// The key that setup is about. Its id is in the address; its text is in this tab's memory and nowhere else.
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { stateOf } from "../accounts/keys";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { one } from "../search";

export type Key = Body<"KeyBody">;

/** The keys to choose from: the newest ones. */
export const keys = queryOptions({
  queryKey: ["setup", "keys"],
  queryFn: () => answer(api.GET("/v1/api-keys", { params: { query: { limit: 200 } } })),
});

/** Which keys an agent could be using now. */
export function usable(all: Key[], now: Date): Key[] {
  return all.filter((key) => stateOf(key, now) === "active" && key.scopes.includes("events:write"));
}

const TEXT_KEY = ["setup", "key"];

interface SetupKey {
  key: Key | undefined;
  /** What authenticates; known only of a key that was made in this tab. */
  text: string | undefined;
  choose: (id: string | undefined) => void;
  made: (key: Body<"MadeKey">) => void;
}

export function useSetupKey(): SetupKey {
  const client = useQueryClient();
  const [search, change] = useAddress();
  const all = useQuery(keys).data?.data ?? [];
  const { data: made } = useQuery<Body<"MadeKey"> | null>({
    queryKey: TEXT_KEY,
    queryFn: () => client.getQueryData<Body<"MadeKey">>(TEXT_KEY) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const id = one(search.key);
  const key = usable(all, new Date()).find((one) => one.id === id);
  return {
    key,
    text: made && made.id === key?.id ? made.api_key : undefined,
    choose: (id) => change({ key: id }, { replace: true }),
    made: (key) => {
      client.setQueryData(TEXT_KEY, key);
      client.setQueryData(keys.queryKey, (page) => page && { ...page, data: [key, ...page.data] });
      change({ key: key.id }, { replace: true });
    },
  };
}
