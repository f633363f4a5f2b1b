// What has a name in the organization, for Ctrl-K: views, rules, agents, endpoints and members. Asked for when it first opens.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { allRules } from "../alerts/all";
import { answer, api } from "../api/client";
import { written } from "../parts/query";
import { memberNames } from "../parts/Who";
import { hrefOf, useViews } from "../views/views";

/** Names change seldom. */
const STALE_MS = 300_000;
const DAY_MS = 86_400_000;

export interface Name {
  kind: "Views" | "Alert rules" | "Agents" | "Endpoints" | "Members";
  id: string;
  name: string;
  href: string;
}

/** The names that are known, and which could not be asked for. */
export function useNames(): { names: Name[]; failed: UseQueryResult[] } {
  const views = useViews();
  const rules = useQuery({ ...allRules, staleTime: STALE_MS });
  const agents = useQuery({
    queryKey: ["names", "agents"],
    queryFn: () => {
      const query = { from: new Date(Date.now() - DAY_MS).toISOString() };
      return answer(api.GET("/v1/audit/facets", { params: { query } }));
    },
    staleTime: STALE_MS,
  });
  const endpoints = useQuery({
    queryKey: ["names", "endpoints"],
    queryFn: () => answer(api.GET("/v1/endpoints", { params: { query: { limit: 100 } } })),
    staleTime: STALE_MS,
  });
  const members = useQuery(memberNames);
  const known = endpoints.data?.data ?? [];
  return {
    names: [
      ...views.map((view): Name => ({ kind: "Views", id: view.id, name: view.name, href: hrefOf(view) })),
      ...(rules.data?.data ?? []).map(
        ({ id, name }): Name => ({ kind: "Alert rules", id, name, href: `/rules/${id}` }),
      ),
      ...(agents.data?.fields.agent_id ?? []).map(({ value }) => agentOf(value)),
      ...known.map(({ id, url }): Name => ({ kind: "Endpoints", id, name: url, href: `/endpoints/${id}` })),
      ...receiversOf(rules.data?.data ?? [], known),
      ...(members.data?.data ?? []).map(
        ({ id, email }): Name => ({ kind: "Members", id, name: email, href: "/members" }),
      ),
    ],
    failed: [rules, agents, endpoints, members].filter(({ isError }) => isError) as UseQueryResult[],
  };
}

/** An agent by its name, which it may have although it is not among those that were busy lately. */
export function agentOf(name: string): Name {
  const href = `/events?agent_id=${encodeURIComponent(name)}`;
  return { kind: "Agents", id: `agent ${name}`, name, href };
}

/** Where rules send to. The API lists only endpoints that were in trouble; of others there are deliveries. */
export function receiversOf(rules: { url: string }[], known: { url: string }[]): Name[] {
  const listed = new Set(known.map(({ url }) => url));
  const urls = [...new Set(rules.map(({ url }) => url))].filter((url) => !listed.has(url));
  return urls.map((url) => {
    const href = `/deliveries?filter=${encodeURIComponent(`url:${written(url)}`)}`;
    return { kind: "Endpoints", id: `receiver ${url}`, name: url, href };
  });
}

/** The names that a text could mean, those that begin with it first; none while nobody has written any. */
export function namesOf(names: Name[], text: string, most: number): Name[] {
  const sought = text.trim().toLowerCase();
  if (sought === "") return [];
  const place = ({ name }: Name) => name.toLowerCase().indexOf(sought);
  const found = names.filter((one) => place(one) >= 0);
  return found.sort((a, b) => Math.min(place(a), 1) - Math.min(place(b), 1)).slice(0, most);
}
