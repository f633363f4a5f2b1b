// How often a rule that is being written would have sent an alert in the last 24 hours, counted while nobody types.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { backtest, type Result } from "./backtest";
import type { Draft } from "./draft";

/** A count looks at a day of events, and a person has 20 in a minute for all that tries rules. */
export const PAUSE_MS = 4_000;
const DAY_MS = 86_400_000;

/** `rule` is the part that is judged; left out while it is not valid. */
export function useLast24h(rule: Draft | undefined): UseQueryResult<Result> {
  const text = rule === undefined ? "" : JSON.stringify(rule);
  const [asked, setAsked] = useState("");
  const [hear] = useState(() => paced(setAsked));
  useEffect(() => hear(text), [hear, text]);
  return useQuery({
    queryKey: ["rule-24h", text],
    queryFn: ({ signal }) =>
      backtest(JSON.parse(text), new Date(Date.now() - DAY_MS), () => undefined, signal),
    // The key is the rule as it stands, so that no other's number is shown.
    enabled: text !== "" && asked === text,
    staleTime: 60_000,
    retry: false,
  });
}

/**
 * Asks for the first rule at once, which nobody is typing yet, and for each later one when it has stood still for a
 * while. What it returns takes the rule back.
 */
export function paced(ask: (text: string) => void): (text: string) => () => void {
  let isFirst = true;
  return (text) => {
    if (text === "") return () => undefined;
    if (isFirst) ask(text);
    const timer = isFirst ? undefined : setTimeout(() => ask(text), PAUSE_MS);
    isFirst = false;
    return () => clearTimeout(timer);
  };
}
