// What the form and the JSON edit together: a rule as it would be sent.
import { useCallback, useState } from "react";
import type { Body } from "../api/client";

/** A rule as somebody is writing it; anything may be wrong with it still. */
export type Draft = Record<string, unknown>;

export interface Editing {
  draft: Draft;
  /** The same as JSON, or what is being typed toward it. */
  text: string;
  /** Why the text is no rule at the moment; the form then shows what it was before. */
  fault: string | undefined;
  /** Sets some fields; `undefined` takes one out. */
  change: (fields: Draft) => void;
  type: (text: string) => void;
  reset: (draft: Draft) => void;
}

export const BLANK: Draft = { name: "", url: "", match: {} };

/** In the order in which people read a rule. */
const ORDER = [
  "name",
  "description",
  "enabled",
  "match",
  "except",
  "url",
  "severity",
  "runbook_url",
  "tags",
  "shadow",
  "snoozed_until",
  "threshold",
  "suppress",
  "tests",
];
/** What a field that is left out stands for, so that it need not be read. */
const DEFAULTS: Draft = { enabled: true, except: [], tags: [], shadow: false, tests: [] };

/** A rule without what is as it would be anyway, in the order of reading. */
export function draftOf(rule: Body<"RuleDefinition"> | Draft): Draft {
  const given = rule as Draft;
  const isUsual = (name: string) => JSON.stringify(given[name]) === JSON.stringify(DEFAULTS[name]);
  return ordered(
    Object.fromEntries(
      ORDER.filter((name) => given[name] !== undefined && given[name] !== null && !isUsual(name)).map(
        (name) => [name, given[name]],
      ),
    ),
  );
}

/** A rule that begins as another one is. It is snoozed for what that one sent, which this one did not. */
export function copyOf(rule: Body<"RuleDefinition">): Draft {
  const { snoozed_until: _, ...draft } = draftOf(rule);
  return { ...draft, name: `${rule.name} (copy)` };
}

function ordered(draft: Draft): Draft {
  const place = (name: string) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  return Object.fromEntries(Object.entries(draft).sort(([a], [b]) => place(a) - place(b)));
}

export function print(draft: Draft): string {
  return compact(JSON.stringify(draft, null, 2));
}

/** Short lists on one line, as people write them. */
function compact(json: string): string {
  return json.replace(/\[\n\s*([^[\]{}]*?)\n\s*\]/g, (list, inside: string) => {
    const line = `[${inside.replace(/\n\s*/g, " ")}]`;
    return line.length <= 72 ? line : list;
  });
}

/** What was typed, or why it is no rule. */
export function parse(text: string): { draft: Draft } | { fault: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { draft: value as Draft };
    return { fault: "A rule must be an object: { … }" };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

export function useDraft(initial: Draft): Editing {
  const [{ draft, text, fault }, set] = useState<{ draft: Draft; text: string; fault?: string }>(() => ({
    draft: initial,
    text: print(initial),
  }));
  const change = useCallback((fields: Draft) => {
    set((before) => {
      const next = { ...before.draft, ...fields };
      for (const name of Object.keys(fields)) if (fields[name] === undefined) delete next[name];
      const draft = ordered(next);
      return { draft, text: print(draft) };
    });
  }, []);
  const type = useCallback((typed: string) => {
    set((before) => {
      const parsed = parse(typed);
      return "draft" in parsed
        ? { draft: parsed.draft, text: typed }
        : { draft: before.draft, text: typed, fault: parsed.fault };
    });
  }, []);
  const reset = useCallback((to: Draft) => set({ draft: to, text: print(to) }), []);
  return { draft, text, fault, change, type, reset };
}
