// What tests of the trail send, and states of a screen that a healthy server does not give.
import type { Page } from "playwright-core";
import type { Organization } from "./organization";

/** Fields of an event; what is not given is usual. */
export type Sent = Record<string, unknown>;

/** Sends events of an organization of the test's own; answers with their ids. */
export async function send({ call }: Organization, events: Sent[]): Promise<string[]> {
  const usual = { event_type: "tool_call", agent_id: "e2e-agent", action: "mail.send", result: "success" };
  const body = { events: events.map((event) => ({ ...usual, ...event })) };
  const answer = await call<{ events: { id: string }[] }>("POST", "/v1/audit/events", body);
  return answer.events.map((one) => one.id);
}

/** A name that nothing else in the trail has. */
export function unique(what: string): string {
  return `${what}-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
}

/** What the server says when it has no database. */
export const DOWN = "The database cannot be reached.";

/** Has the server refuse what matches, as it would if it had too much to do. */
export async function refuse(page: Page, path: string, status: 429 | 503, retryAfterS = 30): Promise<void> {
  const limited = {
    code: "RATE_LIMITED",
    title: "Too many requests",
    detail: `Ask again in ${retryAfterS} seconds.`,
  };
  const down = { code: "STORE_UNAVAILABLE", title: "Unavailable", detail: DOWN };
  await page.route(path, (route) =>
    route.fulfill({
      status,
      headers: {
        "Content-Type": "application/problem+json",
        ...(status === 429 && { "Retry-After": String(retryAfterS) }),
      },
      body: JSON.stringify({ status, request_id: "0123456789abcdef", ...(status === 429 ? limited : down) }),
    }),
  );
}
