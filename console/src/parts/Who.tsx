// Who did something: the person's address or the key's name if known, otherwise the ID.
import { Tooltip } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";

/** Names change seldom. */
const STALE_MS = 300_000;

export const memberNames = queryOptions({
  queryKey: ["names", "usr"],
  queryFn: () => answer(api.GET("/v1/members", { params: { query: { limit: 1000 } } })),
  staleTime: STALE_MS,
});

const keyNames = queryOptions({
  queryKey: ["names", "key"],
  queryFn: () => answer(api.GET("/v1/api-keys", { params: { query: { limit: 1000 } } })),
  staleTime: STALE_MS,
});

/** What people call this person or key; nothing while that is asked, or if nobody knows. */
export function useName(id: string | null | undefined): string | undefined {
  const members = useQuery({ ...memberNames, enabled: isKind(id, "usr") });
  const key = useKeyName(id);
  return members.data?.data.find((one) => one.id === id)?.email ?? (key && `${key} (API key)`);
}

/** What people call this key. */
export function useKeyName(id: string | null | undefined): string | undefined {
  const keys = useQuery({ ...keyNames, enabled: isKind(id, "key") });
  return keys.data?.data.find((one) => one.id === id)?.name;
}

function isKind(id: string | null | undefined, kind: string): boolean {
  return id?.split("_")[0] === kind;
}

export function Who({ id }: { id: string | null | undefined }) {
  const name = useName(id);
  if (!id) return <span className="quiet">unknown</span>;
  if (name === undefined) return <span className="mono">{id}</span>;
  return (
    <Tooltip label={id}>
      <span>{name}</span>
    </Tooltip>
  );
}
