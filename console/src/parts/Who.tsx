// Who did something: the person's address or the key's name if known, otherwise the ID.
import { Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";

/** Names change seldom. */
const STALE_MS = 300_000;

/** What people call this person or key; nothing while that is asked, or if nobody knows. */
export function useName(id: string | null | undefined): string | undefined {
  const kind = id?.split("_")[0];
  const members = useQuery({
    queryKey: ["names", "usr"],
    queryFn: () => answer(api.GET("/v1/members", { params: { query: { limit: 1000 } } })),
    enabled: kind === "usr",
    staleTime: STALE_MS,
  });
  const keys = useQuery({
    queryKey: ["names", "key"],
    queryFn: () => answer(api.GET("/v1/api-keys", { params: { query: { limit: 1000 } } })),
    enabled: kind === "key",
    staleTime: STALE_MS,
  });
  const key = keys.data?.data.find((one) => one.id === id);
  return members.data?.data.find((one) => one.id === id)?.email ?? (key && `key ${key.name}`);
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
