// Every screen of the console, for tests that look at all of them.
import { inject } from "vitest";

export interface Screen {
  /** What its pictures are called. */
  name: string;
  path: string;
  /** Where somebody who has just registered finds nothing; there is always something where this is not given. */
  empty?: string;
}

/** A screen for who is not logged in, and how to fill its form. */
export interface Door {
  name: string;
  path: string;
  fields: Record<string, string>;
  button: string;
}

const PASSWORD = "a long password for tests";

export const DOORS: Door[] = [
  {
    name: "sign-in",
    path: "/sign-in",
    fields: { "Email address": "ann@example.com", Password: PASSWORD },
    button: "Sign in",
  },
  {
    name: "register",
    path: "/register",
    fields: { Organization: "Acme", "Email address": "ann@example.com", Password: PASSWORD },
    button: "Register",
  },
  {
    name: "forgot-password",
    path: "/forgot-password",
    fields: { "Email address": "ann@example.com" },
    button: "Send me a link",
  },
  {
    name: "verify-email",
    path: "/verify-email#token=x",
    fields: { Password: PASSWORD },
    button: "Confirm",
  },
  {
    name: "reset-password",
    path: "/reset-password#token=x",
    fields: { "New password": PASSWORD },
    button: "Set password",
  },
  {
    name: "accept-invitation",
    path: "/accept-invitation#token=x",
    fields: { Password: PASSWORD },
    button: "Join",
  },
];

/** `{rule}` and the like stand for one of the demo's. */
export const SCREENS: Screen[] = [
  { name: "overview", path: "/" },
  { name: "setup", path: "/setup" },
  // That an organization was made is on record too, so there is nothing only before it was.
  { name: "events", path: "/events", empty: "/events?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z" },
  { name: "timeline", path: "/timeline?session_id={session}", empty: "/timeline?session_id=nobody" },
  { name: "exports", path: "/exports", empty: "/exports" },
  { name: "rules", path: "/rules", empty: "/rules" },
  { name: "rule-new", path: "/rules/new" },
  { name: "rule", path: "/rules/{alert-rules}" },
  { name: "deliveries", path: "/deliveries", empty: "/deliveries" },
  { name: "delivery", path: "/deliveries/{deliveries}" },
  { name: "endpoints", path: "/endpoints", empty: "/endpoints" },
  { name: "endpoint", path: "/endpoints/{endpoints}" },
  { name: "signing-secrets", path: "/signing-secrets" },
  { name: "decisions", path: "/decisions", empty: "/decisions" },
  { name: "approvals", path: "/approvals", empty: "/approvals" },
  { name: "policies", path: "/policies", empty: "/policies" },
  { name: "policy-new", path: "/policies/new" },
  { name: "policy-version", path: "/policies/versions/1" },
  { name: "keys", path: "/keys" },
  { name: "members", path: "/members" },
  { name: "sessions", path: "/sessions" },
  { name: "security-log", path: "/security-log" },
  { name: "system", path: "/system" },
];

const known = new Map<string, string>();

/** The path of a screen, about the first thing of its kind that the demo has. */
export async function pathOf({ path }: Screen): Promise<string> {
  const kind = /\{(.*)\}/.exec(path)?.[1];
  if (kind === undefined) return path;
  let id = known.get(kind);
  if (id === undefined) {
    const { base_url } = inject("demo");
    const { name, value } = inject("session");
    const headers = { Cookie: `${name}=${value}` };
    // A run has no list of its own: it is known by its steps.
    const isRun = kind === "session";
    const list = isRun ? "audit/events?event_type=tool_call&" : `${kind}?`;
    const response = await fetch(`${base_url}/v1/${list}limit=1`, { headers });
    const { data } = await response.json();
    if (!data?.[0]) throw new Error(`the demo has no ${kind}: ${response.status}`);
    id = String(isRun ? data[0].session_id : data[0].id);
    known.set(kind, id);
  }
  return path.replace(`{${kind}}`, id);
}
