// Whose event it is: the agent as it calls itself, or the person or key behind one of our own events.
import { isOwn } from "../accounts/securityEvents";
import { useName } from "../parts/Who";
import type { Row } from "./row";

type Acting = Pick<Row, "agent_id" | "event_type" | "source">;

/** An agent may call itself anything, also by somebody's ID: only what the server wrote itself gets a name. */
export function Agent({ event }: { event: Acting }) {
  return isOwn(event) ? <Named id={event.agent_id} /> : event.agent_id;
}

/** Plain mark-up, because long lists are full of it. */
function Named({ id }: { id: string }) {
  const name = useName(id);
  return <span title={name && id}>{name ?? id}</span>;
}
