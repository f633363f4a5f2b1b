// From an event to its decision: what was decided, the policy that says so, and who approved.
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Problem } from "../api/problem";
import { type Decision, OUTCOMES } from "../decisions/model";
import { approval as approvalQuery } from "../decisions/waiting";
import type { AuditEvent } from "../events/row";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { clauseOf, linesOf } from "../policies/clauses";
import { CitedClause } from "../policies/MarkedText";
import { version as versionQuery } from "../policies/queries";
import { ChainLink } from "./ChainLink";
import { approvedAs, decidedBy, OTHER, useDecision, withoutPolicy } from "./decision";
import { PolicyLink } from "./PolicyNames";

/** Policies whose text is shown; the others are named. */
const CITED_MAX = 3;

export function DecisionLinks({ event }: { event: AuditEvent }) {
  const { id, decision, isOther, error } = useDecision(event);
  if (id === undefined) {
    return (
      <ChainLink name="Decision" isMissing>
        No linked decision.
        {event.session_id && (
          <>
            {" "}
            Look for it in{" "}
            <To path="/timeline" with={{ session_id: event.session_id }}>
              the same session
            </To>
            .
          </>
        )}
      </ChainLink>
    );
  }
  if (isOther) {
    return (
      <ChainLink name="Decision" isMissing>
        {OTHER}{" "}
        <To path="/decisions" with={{ decision: id }}>
          View decision
        </To>
      </ChainLink>
    );
  }
  if (error instanceof Problem && error.status === 404) {
    return (
      <ChainLink name="Decision" isMissing>
        {id} is not in the trail.
      </ChainLink>
    );
  }
  return (
    <>
      <ChainLink name="Decision" error={error}>
        {decision && (
          <>
            <Mark word={decision.result} /> {decision.metadata.reason}{" "}
            <To path="/decisions" with={{ decision: id }}>
              View decision
            </To>
          </>
        )}
      </ChainLink>
      {decision && <PolicyOf decision={decision} />}
      {decision && <ApprovalOf decision={decision} />}
    </>
  );
}

function PolicyOf({ decision }: { decision: Decision }) {
  const { policies, leftOut, version } = decidedBy(decision);
  const query = useQuery({
    ...versionQuery(version ?? 0),
    enabled: version !== undefined && policies.length > 0,
  });
  if (policies.length === 0) {
    return (
      <ChainLink name="Policy" isMissing>
        {withoutPolicy(decision)}
      </ChainLink>
    );
  }
  const text = query.data?.policies;
  return policies.map((policy, at) => {
    const clause = text === undefined ? undefined : clauseOf(text, policy);
    const isLast = at === policies.length - 1;
    return (
      <ChainLink key={policy} name="Policy" error={query.error}>
        {version === undefined ? policy : <PolicyLink policy={policy} version={version} />}
        {clause && version !== undefined && `, ${linesOf(clause)} of version ${version}`}
        {isLast && leftOut > 0 && ` and ${leftOut} more policies`}
        {clause && text !== undefined && at < CITED_MAX && (
          <CitedClause text={text} clause={clause} policy={policy} />
        )}
      </ChainLink>
    );
  });
}

function ApprovalOf({ decision }: { decision: Decision }) {
  const id = approvedAs(decision);
  const { data, error } = useQuery({ ...approvalQuery(id ?? ""), enabled: id !== undefined });
  if (id === undefined) {
    return (
      <ChainLink name="Approval" isMissing>
        {decision.metadata.refused
          ? "Approval was required but couldn't be requested. See the decision."
          : "No approval was asked for."}
      </ChainLink>
    );
  }
  const said = data?.resolution;
  return (
    <ChainLink name="Approval" error={error}>
      {data && (
        <>
          {said ? (OUTCOMES[said.outcome] ?? said.outcome) : "Waiting for a person"}
          {said?.by && (
            <>
              {" "}
              by <Who id={said.by} />
            </>
          )}
          {said && (
            <>
              {" "}
              <When at={said.at} />
            </>
          )}{" "}
          <To path="/approvals" with={{ approval: id }}>
            View approval
          </To>
          {said?.note && <Text size="sm">“{said.note}”</Text>}
        </>
      )}
    </ChainLink>
  );
}
