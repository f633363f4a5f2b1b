// How often a rule that is being written would have sent an alert in the last 24 hours, counted while nobody types.
import { useDebouncedValue } from "@mantine/hooks";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { backtest, type Result } from "./backtest";
import type { Draft } from "./draft";

/** A count looks at a day of events, and a person has 20 in a minute for all that tries rules. */
const PAUSE_MS = 4_000;
const DAY_MS = 86_400_000;

/** `rule` is the part that is judged; left out while it is not valid. */
export function useLast24h(rule: Draft | undefined): UseQueryResult<Result> {
  const text = rule === undefined ? "" : JSON.stringify(rule);
  const [asked] = useDebouncedValue(text, PAUSE_MS);
  return useQuery({
    queryKey: ["rule-24h", text],
    queryFn: ({ signal }) =>
      backtest(JSON.parse(text), new Date(Date.now() - DAY_MS), () => undefined, signal),
    // The key is the rule as it stands, so that no other's number is shown; it is counted once it stands still.
    enabled: text !== "" && asked === text,
    staleTime: 60_000,
    retry: false,
  });
}
