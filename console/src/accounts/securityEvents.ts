// Describes what someone did to the organization in a sentence. Actions: docs/reference/events.md.
import { isOurs } from "../events/row";
import { deviceOf } from "./devices";

/** An event of the organization's own, as the trail has it. */
export interface OwnEvent {
  id: string;
  event_type: string;
  agent_id: string;
  action: string;
  result: string;
  occurred_at: string;
  metadata?: Record<string, unknown>;
}

/** The kinds that the log knows, by the `event_type` they have. */
export const KINDS: Record<string, string> = {
  login: "Sign-ins and sign-outs",
  key_rotation: "API keys",
  permission_change: "Members and the organization",
  view_change: "Shared views",
  rule_change: "Alert rules",
  policy_change: "Policies",
  signing_secret_change: "Signing secrets",
  export: "Exports",
};

/** Whether an event belongs into the log: of a kind that it knows, and ours. */
export function isOwn(event: { event_type: string; source?: string | null }): boolean {
  return Object.hasOwn(KINDS, event.event_type) && isOurs(event);
}

interface Description {
  /** What was done, with its name: follows who did it. */
  did: string;
  /** The id of the person it was done to, if it was one. */
  whom?: string;
  /** What else there is to say: follows whom. */
  more?: string;
}

type Describer = (about: (field: string) => string, event: OwnEvent) => Description;

const DESCRIBERS: Record<string, Describer> = {
  "session.start": (_, { result }) => ({
    did: result === "denied" ? "failed to sign in: wrong password" : "signed in",
  }),
  "session.end": () => ({ did: "ended a session" }),
  "password.reset": () => ({ did: "set a new password" }),
  "password.change": () => ({ did: "changed their password" }),
  "api_key.create": (about) => ({
    did: `created the API key “${about("name")}”`,
    more: scopes(about("scopes")),
  }),
  "api_key.rotate": (about) => ({ did: `rotated the API key “${about("name")}”` }),
  "api_key.revoke": (about) => ({ did: `revoked the API key “${about("name")}”` }),
  "member.change": (about) => ({
    did: "changed the role of",
    whom: about("user_id"),
    more: `from ${about("before")} to ${about("after")}`,
  }),
  "member.remove": (about, event) =>
    about("user_id") === event.agent_id
      ? { did: "left the organization", more: keys(about) }
      : { did: `removed ${about("email")} (${about("role")})`, more: keys(about) },
  "invitation.create": (about) => ({ did: `invited ${about("email")} as ${about("role")}` }),
  "invitation.revoke": (about) => ({ did: `revoked the invitation for ${about("email")}` }),
  "invitation.accept": (about) => ({ did: `joined as ${about("role")}` }),
  "organisation.rename": (about) => ({
    did: `renamed the organization from “${about("before")}” to “${about("after")}”`,
  }),
  "organisation.delete": (about) => ({
    did: "scheduled the deletion of the organization",
    more: `for ${about("deletes_at")}`,
  }),
  "organisation.keep": () => ({ did: "canceled the deletion of the organization" }),
  "organisation.announce": () => ({ did: "announced keys, rules, policies and secrets again" }),
  "view.share": (about) => ({ did: `shared the view “${about("name")}” of ${about("list")}` }),
  "view.change": (about) => ({ did: `changed the shared view “${about("name")}” of ${about("list")}` }),
  "view.delete": (about) => ({ did: `deleted the shared view “${about("name")}” of ${about("list")}` }),
  "alert_rules.create": (about) => ({ did: `created the alert rule “${about("name")}”` }),
  "alert_rules.update": (about) => ({
    did: `changed the alert rule “${about("name")}”`,
    more: about("changed") === "" ? undefined : `(${about("changed")})`,
  }),
  "alert_rules.enable": (about) => ({ did: `enabled the alert rule “${about("name")}”` }),
  "alert_rules.disable": (about) => ({ did: `disabled the alert rule “${about("name")}”` }),
  "alert_rules.delete": (about) => ({ did: `deleted the alert rule “${about("name")}”` }),
  "policy.version_created": (about) => ({ did: `created policy version ${about("version")}` }),
  "policy.activated": (about) => ({ did: `activated policy version ${about("version")}` }),
  "policy.rolled_back": (about) => ({ did: `rolled the policies back to version ${about("version")}` }),
  "policy.shadow_started": (about) => ({ did: `put policy version ${about("version")} in shadow` }),
  "policy.shadow_stopped": () => ({ did: "took a policy version out of shadow" }),
  "policy.settings_changed": () => ({ did: "changed the guard settings" }),
  "signing_secrets.stage": () => ({ did: "staged a signing secret" }),
  "signing_secrets.promote": () => ({ did: "promoted a signing secret" }),
  "signing_secrets.drop": () => ({ did: "dropped a signing secret" }),
  "audit.export": (about) => ({ did: `exported events as ${about("format")}` }),
};

/** What is not known by its action is told by it. */
export function describe(event: OwnEvent): Description {
  const about = (field: string) => textOf(event.metadata?.[field]);
  return DESCRIBERS[event.action]?.(about, event) ?? { did: event.action };
}

/** Where it was done from, if that is known. */
export function placeOf({ metadata }: OwnEvent): string | undefined {
  const address = textOf(metadata?.client_address);
  const program = textOf(metadata?.user_agent);
  if (address === "" && program === "") return undefined;
  return [program && deviceOf(program), address].filter(Boolean).join(", ");
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  return value === undefined || value === null ? "" : String(value);
}

/** What became of the keys that somebody made who was removed. */
function keys(about: (field: string) => string): string | undefined {
  const [revoked, kept] = [about("api_keys_revoked"), about("api_keys_kept")].map(Number);
  if (revoked) return `and revoked ${revoked} API ${revoked === 1 ? "key" : "keys"}`;
  return kept ? `and kept ${kept} API ${kept === 1 ? "key" : "keys"}` : undefined;
}

function scopes(text: string): string | undefined {
  return text === "" ? undefined : `(${text})`;
}
