// The decision behind an event, and what of it a chain tells.
import { useQuery } from "@tanstack/react-query";
import { decision as decisionQuery } from "../decisions/list";
import { type Decision, decisionIdOf } from "../decisions/model";
import { decisionOf, isDecision } from "../decisions/record";
import type { AuditEvent } from "../events/row";

/** The decision that an event is, or that it names. Anybody can name any: `isOther` if it is about something else. */
export function useDecision(event: AuditEvent) {
  const own = isDecision(event) ? decisionOf(event) : undefined;
  const id = own ? decisionIdOf(own) : event.decision_id;
  const query = useQuery({ ...decisionQuery(id ?? ""), enabled: own === undefined && id !== undefined });
  const isOther = query.data !== undefined && own === undefined && !isAbout(query.data, event);
  return { id, decision: isOther ? undefined : (own ?? query.data), isOther, error: query.error };
}

/** Whether an event can be what was decided. What our server names, it knows. */
export function isAbout({ agent_id, action }: Decision, event: AuditEvent): boolean {
  return event.source === "server" || (event.agent_id === agent_id && event.action === action);
}

/** What is said of an event that names a decision about something else. */
export const OTHER = "This event names a decision about a different agent or action.";

/** The policies that decided, and the version that has them. What was asked in shadow mode, the shadow version answered. */
export function decidedBy({ metadata }: Decision): { policies: string[]; leftOut: number; version?: number } {
  const version =
    metadata.mode === "shadow"
      ? (metadata.shadow?.policy_version ?? metadata.policy_version)
      : metadata.policy_version;
  return { policies: metadata.policies ?? [], leftOut: metadata.policies_left_out ?? 0, version };
}

/** Why no policy is named. */
export function withoutPolicy({ metadata }: Decision): string {
  if ((metadata.errors?.length ?? 0) > 0)
    return "A policy could not be evaluated, and an error always denies.";
  if (metadata.decision === "deny") return "No policy permits it, so it was denied by default.";
  return "No policy is named.";
}

/** The decision whose approval matters to this one: its own if a person was asked, or the one that it used. */
export function approvedAs(decision: Decision): string | undefined {
  const { approval, decision: verdict } = decision.metadata;
  return approval ?? (verdict === "escalate" ? decisionIdOf(decision) : undefined);
}
