// What API keys may do, in plain words; the names are the server's (`crates/domain/src/account/scope.rs`).
import type { Body } from "../api/client";

export type Scope = Body<"KeyScope">;

export const SCOPES: Record<Scope, string> = {
  "events:write": "record what an agent does",
  "decisions:write": "ask whether an agent may do something",
  "events:read": "search and watch the trail",
  "events:export": "take the trail away as files",
  "rules:read": "look at alert rules",
  "rules:write": "make, change and delete alert rules",
  "deliveries:read": "look at webhooks and their attempts",
  "policies:read": "look at policies",
  "policies:write": "write policies and put them in force",
  "approvals:read": "see what waits for a person",
  "approvals:write": "approve or deny in a person's place",
};

export const AGENT_SCOPES: Scope[] = ["events:write", "decisions:write"];

/** What most keys are for, so that nobody gives more than is needed. */
export const PRESETS: { name: string; scopes: Scope[] }[] = [
  { name: "Agent: send events and ask for decisions", scopes: AGENT_SCOPES },
  { name: "Only send events", scopes: ["events:write"] },
  { name: "Read only", scopes: (Object.keys(SCOPES) as Scope[]).filter((scope) => scope.endsWith(":read")) },
  {
    name: "Set up rules and policies (CI)",
    scopes: ["rules:read", "rules:write", "policies:read", "policies:write"],
  },
];

/** All of them are one word. */
export function scopesInWords(scopes: string[]): string[] {
  return Object.keys(SCOPES).every((scope) => scopes.includes(scope)) ? ["everything"] : scopes;
}
