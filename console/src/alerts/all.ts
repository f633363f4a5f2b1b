// All rules of the organization, for lists to choose from and names to show.
import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";

/** More than an organization has by default, so that there is one page. */
export const RULES_MAX = 1000;

export const allRules = queryOptions({
  queryKey: ["rules", {}],
  queryFn: () => answer(api.GET("/v1/alert-rules", { params: { query: { limit: RULES_MAX } } })),
});
