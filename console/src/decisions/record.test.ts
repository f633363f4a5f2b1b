// Whatever an event says, a decision can be shown.
import { expect, test } from "vitest";
import { decisionOf, endOf, isDecision } from "./record";

const minimal = { id: "evt_1", event_type: "decision", agent_id: "x", action: "a.b", result: "allowed" };

test("an event that says no more than it must is a decision without details", () => {
  const decision = decisionOf(minimal);
  expect(decision.metadata.took_us).toBeUndefined();
  expect(decision).toEqual({ ...minimal, metadata: {} });
  expect(endOf(minimal).metadata.note).toBeUndefined();
});

test("what is not as the server writes it is left out, and the rest is kept", () => {
  const metadata = {
    decision: "constructor",
    reason: { text: "no" },
    policies: "all",
    errors: [{ id: "p" }],
    question: { principal: 7 },
    shadow: {},
    refused: "expired",
    took_us: "fast",
    note: ["x"],
    own: { a: 1 },
  };
  expect(decisionOf({ ...minimal, metadata }).metadata).toEqual({ note: ["x"], own: { a: 1 } });
  expect(endOf({ ...minimal, metadata }).metadata.reason).toBeUndefined();
  expect(endOf({ ...minimal, metadata }).metadata.note).toBeUndefined();
  for (const odd of [null, 7, "x", []]) {
    expect(decisionOf({ ...minimal, metadata: odd }).metadata).toEqual({});
  }
});

test("only the server's own is a decision", () => {
  expect(isDecision(minimal)).toBe(true);
  expect(isDecision({ ...minimal, source: "server" })).toBe(true);
  expect(isDecision({ ...minimal, source: "key_1" })).toBe(false);
  expect(isDecision({ ...minimal, event_type: "tool_call", source: "server" })).toBe(false);
});

test("what the server writes is kept whole", () => {
  const party = { type: "Agent", id: "billing" };
  const metadata = {
    took_us: 120,
    decision: "deny",
    reason: "No policy permits it.",
    policies: ["a", "b"],
    errors: [{ id: "c", error: "type error" }, { error: "schema" }],
    question: { principal: party, action: "payments.refund", resource: party, context: { amount: 1 } },
    shadow: { decision: "allow", policy_version: 3, policy_digest: "00" },
    policy_version: 2,
    refused: { why: "expired", approval: "dec_0" },
  };
  expect(decisionOf({ ...minimal, metadata })).toEqual({ ...minimal, metadata });
});
