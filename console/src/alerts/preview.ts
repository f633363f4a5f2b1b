// Evaluates a rule that is being written against the newest events of the trail.
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api, type Body } from "../api/client";
import type { Draft } from "./draft";

export type Leaf = Body<"RuleTrialLeaf">;

export type Tried = Body<"RulePreviewEvent">;
export type PreviewAnswer = Body<"RulePreviewResult">;

/** How long nobody types before it is asked: long enough to write a word, short enough to feel live. */
const PAUSE_MS = 400;
/** As many as can be looked through. */
const EVENTS = 50;

/** `event` is the one that the rule is written for; it is tried too, however old it is. */
export function usePreview(draft: Draft, isOn: boolean, event?: string): UseQueryResult<PreviewAnswer> {
  // What does not change which events match does not need another question.
  const asked = useMemo(() => JSON.stringify(judging(draft)), [draft]);
  const [rule] = useDebouncedValue(asked, PAUSE_MS);
  return useQuery({
    queryKey: ["rule-preview", rule, event],
    queryFn: () => {
      const body = { rule: JSON.parse(rule), limit: EVENTS, event_id: event };
      return answer(api.POST("/v1/alert-rules/preview", { body }));
    },
    placeholderData: keepPreviousData,
    enabled: isOn,
    refetchInterval: 15_000,
  });
}

/** The part of a rule that is tried. A name or an address that is not written yet is no fault here. */
export function judging(draft: Draft): Draft {
  const { name, url, tests, enabled, description, tags, ...rest } = draft;
  return rest;
}

/** In the order in which they are looked at: the event that the rule is for, then those that match. */
export function inOrder({ events, named }: PreviewAnswer): Tried[] {
  const others = events.filter(({ event }) => event.id !== named?.event.id);
  const matching = others.filter(({ matches }) => matches);
  return [...(named ? [named] : []), ...matching, ...others.filter(({ matches }) => !matches)];
}

/** The values that events hold, by the dotted names of their fields; those of lists one by one. */
export function valuesOf(events: object[]): Map<string, string[]> {
  const found = new Map<string, Set<string>>();
  const look = (value: unknown, path: string[]) => {
    if (Array.isArray(value)) for (const one of value) look(one, path);
    else if (typeof value === "object" && value !== null)
      for (const [name, inside] of Object.entries(value)) look(inside, [...path, name]);
    else {
      const name = path.join(".");
      const values = found.get(name) ?? new Set();
      if (values.size < SUGGESTIONS_MAX) values.add(String(value));
      found.set(name, values);
    }
  };
  for (const event of events) look(event, []);
  return new Map([...found].map(([name, values]) => [name, [...values].sort()]));
}

/** More would be no help in choosing. */
const SUGGESTIONS_MAX = 30;
