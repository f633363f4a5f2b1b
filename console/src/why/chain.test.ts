// What the links of a chain say.
import { expect, test } from "vitest";
import type { Body } from "../api/client";
import type { Decision } from "../decisions/model";
import { withoutAlerts } from "./alerts";
import { approvedAs, decidedBy, isAbout, withoutPolicy } from "./decision";
import { responseOf } from "./response";

const decision = (metadata: Decision["metadata"]): Decision => ({
  id: "evt_1",
  received_at: "",
  occurred_at: "",
  agent_id: "a",
  action: "b.c",
  result: "denied",
  metadata,
});

test("the policies are those of the version that answered", () => {
  const shadow = { decision: "deny" as const, policy_version: 3, policy_digest: "" };
  const said = { policies: ["no"], policies_left_out: 2, policy_version: 2, shadow };
  expect(decidedBy(decision(said))).toEqual({ policies: ["no"], leftOut: 2, version: 2 });
  expect(decidedBy(decision({ ...said, mode: "shadow" })).version).toBe(3);
  expect(decidedBy(decision({}))).toEqual({ policies: [], leftOut: 0, version: undefined });
});

test("a decision without a policy says why it has none", () => {
  expect(withoutPolicy(decision({ decision: "deny" }))).toMatch(/No policy permits it/);
  expect(withoutPolicy(decision({ decision: "deny", errors: [{ error: "x" }] }))).toMatch(
    /error always denies/,
  );
  expect(withoutPolicy(decision({ decision: "allow" }))).toBe("No policy is named.");
});

test("an approval is the decision's own, the one that it used, or none", () => {
  expect(approvedAs(decision({ decision: "escalate" }))).toBe("dec_1");
  expect(approvedAs(decision({ decision: "allow", approval: "dec_0" }))).toBe("dec_0");
  expect(approvedAs(decision({ decision: "deny" }))).toBeUndefined();
});

test("an event without alerts says whether there were none, or none yet, or none any more", () => {
  const now = Date.parse("2026-11-17T10:00:00Z");
  expect(withoutAlerts("2026-11-17T09:59:30Z", now)).toMatch(/yet/);
  expect(withoutAlerts("2026-11-17T09:00:00Z", now)).toBe("No rule raised an alert for this event.");
  expect(withoutAlerts("2026-10-01T00:00:00Z", now)).toMatch(/kept for 30 days/);
});

test("a decision explains an event of the same agent and action, or one that the server wrote", () => {
  const event = { ...decision({}), id: "evt_2", event_type: "tool_call", source: "key_1" };
  expect(isAbout(decision({}), event)).toBe(true);
  expect(isAbout(decision({}), { ...event, agent_id: "other" })).toBe(false);
  expect(isAbout(decision({}), { ...event, action: "c.d" })).toBe(false);
  expect(isAbout(decision({}), { ...event, action: "c.d", source: "server" })).toBe(true);
});

test("a response is told in one line", () => {
  const attempt = {
    started_at: "2026-11-17T10:00:00.000Z",
    finished_at: "2026-11-17T10:00:00.031Z",
    status: 503,
    answer: "try\n  again",
  } as Body<"AttemptBody">;
  expect(responseOf(attempt)).toBe("503 after 31 ms: “try again”");
  expect(responseOf({ ...attempt, answer: "" })).toBe("503 after 31 ms");
  expect(responseOf({ ...attempt, answer: "x".repeat(200) })).toBe(`503 after 31 ms: “${"x".repeat(120)}…”`);
  expect(responseOf({ ...attempt, status: null, error: "Refused." })).toBe("Refused.");
  expect(responseOf({ ...attempt, status: null })).toBe("No response after 31 ms");
});
