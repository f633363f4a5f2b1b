// What people call a value that events are filtered by.
import { isOwn } from "../accounts/securityEvents";
import { useName } from "../parts/Who";
import { all, type Search } from "../search";
import type { Field } from "./filter";

/** The name behind an ID where it is sure whose ID it is; otherwise the value as it is. */
export function useValueName(field: Field, value: string, search: Search): string {
  return useName(hasNames(field, search) ? value : undefined) ?? value;
}

/**
 * Whether the values of a field are IDs that the server wrote. It alone says who sent an event. An agent may call itself
 * by somebody's ID, also when it asks for a decision: its name is believed only if nothing else is searched for than
 * what people did to the organization (`Agent.tsx`).
 */
export function hasNames(field: Field, search: Search): boolean {
  if (field === "source") return true;
  if (field !== "agent_id") return false;
  const [types, sources] = [all(search.event_type), all(search.source)];
  const isEachOwn = types.every((event_type) => sources.every((source) => isOwn({ event_type, source })));
  return types.length > 0 && sources.length > 0 && isEachOwn;
}
