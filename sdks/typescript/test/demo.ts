// What tests begin with: a client of the server that all share, and an agent that nobody else is.
import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { type Client, createClient, type NewEvent } from "../src/index.js";

export function demoClient(): Client {
  const { base_url, api_key } = inject("demo");
  return createClient({ url: base_url, apiKey: api_key });
}

/** An id that only one test uses, so that it can tell its events. */
export const newAgent = () => `agent-${randomUUID()}`;

export function event(agent_id: string, more: Partial<NewEvent> = {}): NewEvent {
  return { event_type: "tool_call", agent_id, action: "files.read", result: "success", ...more };
}

export async function collect<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}
