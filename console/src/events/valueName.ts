// What people call a value that events are filtered by.
import { useName } from "../parts/Who";
import type { Field } from "./filter";

/** The fields that may hold the ID of a person or an API key. */
const WHO: readonly Field[] = ["agent_id", "source"];

/**
 * The name behind an ID, or the value as it is. An agent that calls itself by somebody's ID has the same value as they
 * do; the list of events tells them apart (`Agent.tsx`).
 */
export function useValueName(field: Field, value: string): string {
  return useName(WHO.includes(field) ? value : undefined) ?? value;
}
