// An organization of a test's own: somebody who is logged in, and a key for its agents.
import { inject } from "vitest";
import { login } from "./server";

export interface Organization extends Person {
  /** Calls the API with the key; answers what the server does, and fails if it refuses. */
  call: <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => Promise<T>;
  /** The same as the owner, who may also do what no key may. */
  manage: Organization["call"];
}

const SCOPES = [
  "events:write",
  "events:read",
  "decisions:write",
  "approvals:read",
  "approvals:write",
  "policies:read",
  "policies:write",
];

/** Somebody, and how they log in. */
export interface Person {
  email: string;
  password: string;
  session: { name: string; value: string };
}

const JSON_BODY = { "Content-Type": "application/json" };
let made = 0;

/** Somebody who has just registered an organization, which has nothing yet. */
export async function register(name: string): Promise<Person> {
  const { base_url } = inject("demo");
  made += 1;
  const email = `${name.toLowerCase().replaceAll(" ", "-")}-${Date.now()}-${made}@example.com`;
  const password = "a long password for tests";
  const registered = await fetch(`${base_url}/v1/auth/register`, {
    method: "POST",
    headers: JSON_BODY,
    body: JSON.stringify({ organisation: name, email, password }),
  });
  if (!registered.ok) throw new Error(`register: ${registered.status} ${await registered.text()}`);
  return { email, password, session: await login(base_url, email, password) };
}

/** A session of somebody whose organization has nothing yet. */
export async function newcomer(): Promise<Person["session"]> {
  return (await register("Newcomer")).session;
}

export async function newOrganization(name: string): Promise<Organization> {
  const { base_url } = inject("demo");
  const owner = await register(name);
  const { session } = owner;
  const key = await fetch(`${base_url}/v1/api-keys`, {
    method: "POST",
    headers: { ...JSON_BODY, Cookie: `${session.name}=${session.value}` },
    body: JSON.stringify({ name: "tests", scopes: SCOPES }),
  });
  if (!key.ok) throw new Error(`make a key: ${key.status} ${await key.text()}`);
  const { api_key } = await key.json();
  const calling =
    (who: Record<string, string>): Organization["call"] =>
    async (method, path, body) => {
      const response = await fetch(`${base_url}${path}`, {
        method,
        headers: { ...JSON_BODY, ...who },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.status === 204 ? undefined : await response.json();
    };
  const manage = calling({ Cookie: `${session.name}=${session.value}` });
  return { ...owner, call: calling({ Authorization: `Bearer ${api_key}` }), manage };
}

/** Denies deletions and has a person asked about large refunds. */
export const POLICIES = `@id("allow-all")
permit (principal, action, resource);

@id("no-deletions")
@reason("Agents do not delete files.")
forbid (principal, action == Action::"files.delete", resource);

@id("refunds-need-approval")
@verdict("escalate")
@reason("A person looks at refunds above 100.")
@show("amount, payload.to")
forbid (principal, action == Action::"refunds.create", resource)
unless { context has amount && context.amount <= 100 };
`;

/** Puts policies in force; returns their version. */
export async function activate({ call }: Organization, policies: string, note: string): Promise<number> {
  const { version } = await call<{ version: number }>("POST", "/v1/policies/versions", { policies, note });
  await call("POST", `/v1/policies/versions/${version}/activate`, {});
  return version;
}

/** Asks as an agent would; returns the decision's id. */
export async function ask(
  { call }: Organization,
  agent_id: string,
  action: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const question = { agent_id, action, ...more };
  const { decision_id } = await call<{ decision_id: string }>("POST", "/v1/runtime/decisions", question);
  return decision_id;
}
