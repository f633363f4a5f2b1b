// A decision as recorded in the trail, and the filters in the address.
import { all, one, type Search } from "../search";

export interface Party {
  type: string;
  id: string;
  properties?: Record<string, unknown>;
}

/** What an agent asked. */
export interface Question {
  principal: Party;
  action: string;
  resource: Party;
  context?: Record<string, unknown>;
}

/** How a request for approval ended, in words. */
export const OUTCOMES: Record<string, string> = {
  approved: "Approved",
  denied: "Denied",
  timed_out: "Auto-denied: no one answered in time",
};

/** An event with `event_type` `decision`. What older versions did not record is not there. */
export interface Decision {
  id: string;
  received_at: string;
  occurred_at: string;
  agent_id: string;
  action: string;
  resource?: string;
  result: string;
  decision_id?: string;
  session_id?: string;
  trace_id?: string;
  metadata: {
    decision?: Verdict;
    reason?: string;
    policies?: string[];
    policies_left_out?: number;
    errors?: { id?: string; error: string }[];
    errors_left_out?: number;
    policy_version?: number;
    policy_digest?: string;
    question?: Question;
    has_payload?: boolean;
    mode?: string;
    shadow?: { decision: Verdict; policy_version: number; policy_digest: string };
    approval?: string;
    /** A person's approval was needed and could not be had. */
    refused?: { why: string; approval?: string };
    /** How long it took to answer, in microseconds. */
    took_us?: number;
  };
}

export type Verdict = "allow" | "deny" | "modify" | "escalate";

/** The results that decisions have, in the order in which they are shown. */
export const RESULTS = ["allowed", "modified", "escalated", "denied", "not_enforced"];

/** What each verdict means for the agent that asked. */
export const MEANING: Record<Verdict, string> = {
  allow: "The agent may proceed.",
  modify: "The agent may proceed with the modified payload.",
  escalate: "A person must approve it first.",
  deny: "The agent may not do this.",
};

/** What of the address filters the list. */
export const FILTERS = ["agent_id", "action", "result", "q", "filter"] as const;

/** The filters of the list by the names that the API has for them. */
export interface Filters {
  agent_id: string[];
  action: string[];
  result: string[];
  q?: string;
  /** A query, which holds beside the others. */
  filter?: string;
}

export function filtersOf(search: Search): Filters {
  return {
    agent_id: all(search.agent_id),
    action: all(search.action),
    result: all(search.result),
    q: one(search.q),
    filter: one(search.filter),
  };
}

/** Whether any filter is set. */
export function isFiltered({ agent_id, action, result, q, filter }: Filters): boolean {
  return agent_id.length + action.length + result.length > 0 || q !== undefined || filter !== undefined;
}

/** The event that a decision is has the same id but for the prefix. */
export function eventIdOf(decisionId: string): string {
  return decisionId.replace(/^dec_/, "evt_");
}

export function decisionIdOf(decision: Decision): string {
  return decision.id.replace(/^evt_/, "dec_");
}

/** A part of the time, and what was decided in it. */
interface Bucket {
  at: string;
  total: number;
  counts: { [result: string]: number | undefined };
}

/** How many of all decisions were denied, in percent; unknown where there were none. */
export function denyRates(buckets: Bucket[]): (number | null)[] {
  return buckets.map(({ total, counts }) => (total === 0 ? null : (100 * (counts.denied ?? 0)) / total));
}

/** A party as people write it, such as `Account:77`. */
export function nameOf(party: Party): string {
  return `${party.type}:${party.id}`;
}

/** What a text of somebody's means as JSON, or what is wrong with it. */
export function readJson(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}
