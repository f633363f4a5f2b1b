// What somebody did, told in a sentence.
import { expect, test } from "vitest";
import { describe, isOwn, type OwnEvent, placeOf } from "./securityEvents";

function event(action: string, metadata: Record<string, unknown> = {}, result = "success"): OwnEvent {
  return { id: "evt_1", event_type: "x", agent_id: "usr_1", occurred_at: "", action, result, metadata };
}

test("what somebody did is told in a sentence, with names", () => {
  expect(describe(event("api_key.create", { name: "billing", scopes: ["events:write"] }))).toEqual({
    did: "created the API key “billing”",
    more: "(events:write)",
  });
  expect(describe(event("member.change", { user_id: "usr_2", before: "viewer", after: "admin" }))).toEqual({
    did: "changed the role of",
    whom: "usr_2",
    more: "from viewer to admin",
  });
});

test("that the organization is to be deleted is told with when, and that it is not", () => {
  expect(describe(event("organisation.delete", { deletes_at: "2026-11-22T09:30:00.000Z" }))).toEqual({
    did: "scheduled the deletion of the organization",
    more: "for 2026-11-22T09:30:00.000Z",
  });
  expect(describe(event("organisation.keep")).did).toBe("canceled the deletion of the organization");
});

test("what becomes of a shared view is told with its name and list", () => {
  const about = { name: "Denied", list: "events" };
  expect(describe(event("view.share", about)).did).toBe("shared the view “Denied” of events");
  expect(describe(event("view.delete", about)).did).toBe("deleted the shared view “Denied” of events");
});

test("who leaves by themselves is not removed", () => {
  const details = { email: "a@example.com", role: "admin" };
  expect(describe(event("member.remove", { ...details, user_id: "usr_1" })).did).toBe(
    "left the organization",
  );
  expect(describe(event("member.remove", { ...details, user_id: "usr_2" })).did).toBe(
    "removed a@example.com (admin)",
  );
});

test("a refused login is told as one", () => {
  expect(describe(event("session.start")).did).toBe("signed in");
  expect(describe(event("session.start", {}, "denied")).did).toContain("failed to sign in");
});

test("what is not known is told by its action", () => {
  expect(describe(event("something.new"))).toEqual({ did: "something.new" });
});

test("where it was done from is told as far as it is known", () => {
  expect(placeOf(event("session.start", { client_address: "10.0.0.7", user_agent: "curl/8" }))).toBe(
    "curl, 10.0.0.7",
  );
  expect(placeOf(event("session.start", { client_address: "10.0.0.7" }))).toBe("10.0.0.7");
  expect(placeOf(event("session.start"))).toBeUndefined();
});

test("only what the server wrote, of a kind that the log knows, is its own", () => {
  expect(isOwn({ event_type: "login", source: "server" })).toBe(true);
  expect(isOwn({ event_type: "login" })).toBe(true);
  expect(isOwn({ event_type: "login", source: "key_1" })).toBe(false);
  expect(isOwn({ event_type: "tool_call", source: "server" })).toBe(false);
  expect(isOwn({ event_type: "constructor", source: "server" })).toBe(false);
});
