// What the demo tells: a day that holds together.
import { expect, inject, test } from "vitest";
import type { components } from "../src/api/schema";

type Event = components["schemas"]["Event"];

async function events(query: string): Promise<Event[]> {
  const { base_url, api_key } = inject("demo");
  const response = await fetch(`${base_url}/v1/audit/events?limit=1000&${query}`, {
    headers: { Authorization: `Bearer ${api_key}` },
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: Event[] }).data;
}

const hour = ({ occurred_at }: Event) => occurred_at.slice(0, 13);

test("whatever an agent was denied names its decision, made just before, and decisions fill the day", async () => {
  const denied = (await events("event_type=tool_call&result=denied")).filter(
    ({ metadata }) => metadata?.team,
  );
  expect(denied.length).toBeGreaterThan(5);
  const asked = denied.slice(0, 20);
  const query = asked.map(({ decision_id }) => `decision_id=${decision_id}`).join("&");
  const decisions = new Map(
    (await events(`event_type=decision&${query}`)).map((decision) => [decision.decision_id, decision]),
  );
  for (const call of asked) {
    const decision = decisions.get(call.decision_id);
    const why = JSON.stringify({ call, decision });
    expect(decision, why).toMatchObject({
      agent_id: call.agent_id,
      action: call.action,
      session_id: call.session_id,
      result: "denied",
    });
    expect(decision?.metadata?.reason, why).toBe(call.metadata?.reason);
    expect(Date.parse(call.occurred_at) - Date.parse(decision?.occurred_at ?? ""), why).toBe(3);
  }
  const all = await events("event_type=decision");
  expect(new Set(all.map(hour)).size).toBeGreaterThan(4);
});

test("the spans of a trace are within each other", async () => {
  const [first] = await events("event_type=model_call");
  const trace = (await events(`trace_id=${first?.trace_id}`)).filter(({ span_id }) => span_id);
  const spans = new Set(trace.map(({ span_id }) => span_id));
  const nested = trace.filter(({ metadata }) => spans.has(String(metadata?.parent_span_id)));
  expect(trace.length).toBeGreaterThan(1);
  expect(nested.length).toBe(trace.length - 1);
});
