// All rules of the organization, for lists to choose from and names to show.
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";

/** More than an organization has by default, so that there is one page. */
export const RULES_MAX = 1000;

export const allRules = queryOptions({
  queryKey: ["rules", {}],
  queryFn: () => answer(api.GET("/v1/alert-rules", { params: { query: { limit: RULES_MAX } } })),
});

/** Those that say this somewhere a person would look for it. */
export function withText<Rule extends { name: string; url: string; description?: string | null }>(
  rules: Rule[],
  text: string,
): Rule[] {
  const sought = text.trim().toLowerCase();
  return rules.filter(({ name, url, description }) =>
    [name, url, description ?? ""].some((said) => said.toLowerCase().includes(sought)),
  );
}
