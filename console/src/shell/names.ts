// What has a name in the organization, for Ctrl-K: views, rules, agents, endpoints and members. Asked for when it first opens.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { allRules } from "../alerts/all";
import { answer, api } from "../api/client";
import { written } from "../parts/query";
import { memberNames } from "../parts/Who";
import { allViews, hrefOf, type View } from "../views/views";

/** Names change seldom. */
const STALE_MS = 300_000;
const DAY_MS = 86_400_000;

export interface Name {
  kind: "Views" | "Alert rules" | "Agents" | "Endpoints" | "Members";
  id: string;
  name: string;
  /** What else tells it from others of its name. */
  about?: string;
  href: string;
}

/** The names that are known, and which could not be asked for. */
export function useNames(): { names: Name[]; failed: UseQueryResult[] } {
  const views = useQuery(allViews);
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
      ...(views.data?.data ?? []).map(viewOf),
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
    failed: [views, rules, agents, endpoints, members].filter(({ isError }) => isError) as UseQueryResult[],
  };
}

/** Each list may have a view of the same name. */
export function viewOf(view: View): Name {
  const { id, name, list, shared } = view;
  const about = `${list.charAt(0).toUpperCase()}${list.slice(1)}${shared ? ", shared" : ""}`;
  return { kind: "Views", id, name, about, href: hrefOf(view) };
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

/**
 * The names that a text could mean, those that begin with it first, of each kind at most so many; none while nobody has
 * written any.
 */
export function namesOf(names: Name[], text: string, most: number): Name[] {
  const sought = text.trim().toLowerCase();
  if (sought === "") return [];
  const place = ({ name }: Name) => name.toLowerCase().indexOf(sought);
  const found = names.filter((one) => place(one) >= 0);
  found.sort((a, b) => Math.min(place(a), 1) - Math.min(place(b), 1));
  const before = new Map<Name["kind"], number>();
  return found.filter(({ kind }) => {
    const count = (before.get(kind) ?? 0) + 1;
    before.set(kind, count);
    return count <= most;
  });
}
