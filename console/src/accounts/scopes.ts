// What API keys can do, in plain words; the names are the server's (`crates/domain/src/account/scope.rs`).
import type { Body } from "../api/client";

export type Scope = Body<"KeyScope">;

export const SCOPES: Record<Scope, string> = {
  "events:write": "record what an agent does",
  "decisions:write": "ask whether an agent may do something",
  "events:read": "search and watch the trail",
  "events:export": "export the trail as files",
  "rules:read": "view alert rules",
  "rules:write": "create, change and delete alert rules",
  "deliveries:read": "view deliveries and their attempts",
  "policies:read": "view policies",
  "policies:write": "write and activate policies",
  "approvals:read": "view pending approvals",
  "approvals:write": "approve or deny in place of a person",
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
