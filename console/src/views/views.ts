// Views: searches under a name, the person's own and those that the organization shares.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { all, type Search, stringifySearch } from "../search";

export type View = Body<"View">;
export type List = View["list"];

/** Others save views seldom. */
const STALE_MS = 60_000;

export const allViews = queryOptions({
  queryKey: ["views"],
  queryFn: () => answer(api.GET("/v1/views")),
  staleTime: STALE_MS,
});

/** All views that a person has, by name; none until they are known. */
export function useViews(): View[] {
  return useQuery(allViews).data?.data ?? [];
}

/** Has the menu show what was just saved, changed or deleted. */
export function renewViews(): Promise<void> {
  return queries.invalidateQueries({ queryKey: allViews.queryKey });
}

const TIMES = ["last", "from", "to"];

/** What a view would keep of an address: these parameters of its list, and the time. The rest is what is open at the moment. */
export function searchOf(parameters: readonly string[], address: Search): View["search"] {
  const kept = [...parameters, ...TIMES].map((name) => [name, all(address[name])] as const);
  return Object.fromEntries(kept.filter(([, values]) => values.length > 0));
}

/** The parameters of the address that opens a view, and that say which one it is. */
export function addressOf(view: View): Search {
  return { ...view.search, view: view.id };
}

export function hrefOf(view: View): string {
  return `/${view.list}${stringifySearch(addressOf(view))}`;
}

/** Whether two searches are the same, in whichever order they are written. */
export function isSame(one: View["search"], other: View["search"]): boolean {
  const text = (search: View["search"]) => JSON.stringify(Object.entries(search).sort());
  return text(one) === text(other);
}
