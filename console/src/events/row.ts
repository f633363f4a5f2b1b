// What the list keeps of an event. The rest is loaded when the event is opened.

/** An event as the API tells it; what was sent besides is there too. */
export interface AuditEvent {
  id: string;
  occurred_at: string;
  received_at: string;
  /** `server`, or the id of an API key; older events say nothing. */
  source?: string;
  event_type: string;
  agent_id: string;
  action: string;
  result: string;
  severity?: string;
  resource?: string;
  session_id?: string;
  trace_id?: string;
  span_id?: string;
  decision_id?: string;
  /** How long it took. Clients send an event when it is over. */
  latency_ms?: number;
  metadata?: Record<string, unknown>;
}

/** Whether our server wrote an event. Older ones do not say who did. */
export function isOurs({ source }: { source?: string | null }): boolean {
  return (source ?? "server") === "server";
}

export type Row = Pick<
  AuditEvent,
  "id" | "occurred_at" | "source" | "event_type" | "agent_id" | "action" | "result" | "severity" | "resource"
>;

/** Names come again and again, and each is kept once; more than so many are not names. */
const NAMES_MAX = 10_000;
const names = new Map<string, string>();

function name<T extends string | undefined>(text: T): T {
  if (text === undefined) return text;
  const known = names.get(text);
  if (known !== undefined) return known as T;
  if (names.size < NAMES_MAX) names.set(text, text);
  return text;
}

export function rowOf(event: AuditEvent): Row {
  return {
    id: event.id,
    occurred_at: event.occurred_at,
    source: name(event.source),
    event_type: name(event.event_type),
    agent_id: name(event.agent_id),
    action: name(event.action),
    result: name(event.result),
    severity: name(event.severity),
    resource: event.resource,
  };
}
