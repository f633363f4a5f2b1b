// Whose ID is shown as a name.
import { expect, test } from "vitest";
import { parseSearch } from "../search";
import { hasNames } from "./valueName";

test("an agent has somebody's name only where the server alone can have written their ID", () => {
  const isNamed = (address: string) => hasNames("agent_id", parseSearch(address));
  expect(isNamed("?source=server&event_type=key_rotation&event_type=login")).toBe(true);
  // An agent calls itself what it likes when it sends an event, and when it asks for a decision.
  expect(isNamed("")).toBe(false);
  expect(isNamed("?event_type=key_rotation")).toBe(false);
  expect(isNamed("?source=server")).toBe(false);
  expect(isNamed("?source=server&event_type=login&event_type=decision")).toBe(false);
  expect(isNamed("?source=server&source=key_1&event_type=login")).toBe(false);
});

test("who sent an event is written by the server; other values are no IDs of people and keys", () => {
  expect(hasNames("source", {})).toBe(true);
  expect(hasNames("session_id", parseSearch("?source=server&event_type=login"))).toBe(false);
});
