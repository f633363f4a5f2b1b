// The policies that decided, each with a link to where it stands in its version.
import type { Decision } from "../decisions/model";
import { To } from "../parts/To";
import { decidedBy } from "./decision";

export function PolicyNames({ decision }: { decision: Decision }) {
  const { policies, leftOut, version } = decidedBy(decision);
  return (
    <>
      {policies.map((policy, at) => (
        <span key={policy}>
          {at > 0 && ", "}
          {version === undefined ? policy : <PolicyLink policy={policy} version={version} />}
        </span>
      ))}
      {leftOut > 0 && ` and ${leftOut} more`}
    </>
  );
}

export function PolicyLink({ policy, version }: { policy: string; version: number }) {
  return (
    <To path={`/policies/versions/${version}`} with={{ policy }}>
      {policy}
    </To>
  );
}
