// What has a name in the organization, for Ctrl-K: rules, agents, endpoints and members. Asked for when it first opens.
import { useQuery } from "@tanstack/react-query";
import { allRules } from "../alerts/all";
import { answer, api } from "../api/client";

/** Names change seldom. */
const STALE_MS = 300_000;
const DAY_MS = 86_400_000;

export interface Name {
  kind: "Alert rules" | "Agents" | "Endpoints" | "Members";
  id: string;
  name: string;
  href: string;
}

export function useNames(): Name[] {
  const rules = useQuery({ ...allRules, staleTime: STALE_MS }).data?.data ?? [];
  const agents =
    useQuery({
      queryKey: ["names", "agents"],
      queryFn: () => {
        const query = { from: new Date(Date.now() - DAY_MS).toISOString() };
        return answer(api.GET("/v1/audit/facets", { params: { query } }));
      },
      staleTime: STALE_MS,
    }).data?.fields.agent_id ?? [];
  const endpoints =
    useQuery({
      queryKey: ["names", "endpoints"],
      queryFn: () => answer(api.GET("/v1/endpoints", { params: { query: { limit: 100 } } })),
      staleTime: STALE_MS,
    }).data?.data ?? [];
  const members =
    useQuery({
      queryKey: ["names", "usr"],
      queryFn: () => answer(api.GET("/v1/members", { params: { query: { limit: 1000 } } })),
      staleTime: STALE_MS,
    }).data?.data ?? [];
  return [
    ...rules.map(({ id, name }): Name => ({ kind: "Alert rules", id, name, href: `/rules/${id}` })),
    ...agents.map(({ value }): Name => {
      const href = `/events?agent_id=${encodeURIComponent(value)}`;
      return { kind: "Agents", id: `agent ${value}`, name: value, href };
    }),
    ...endpoints.map(({ id, url }): Name => ({ kind: "Endpoints", id, name: url, href: `/endpoints/${id}` })),
    ...members.map(({ id, email }): Name => ({ kind: "Members", id, name: email, href: "/members" })),
  ];
}

/** The names that a text could mean, those that begin with it first; none while nobody has written any. */
export function namesOf(names: Name[], text: string, most: number): Name[] {
  const sought = text.trim().toLowerCase();
  if (sought === "") return [];
  const place = ({ name }: Name) => name.toLowerCase().indexOf(sought);
  const found = names.filter((one) => place(one) >= 0);
  return found.sort((a, b) => Math.min(place(a), 1) - Math.min(place(b), 1)).slice(0, most);
}
