// Why an event has its result, at the head of its panel.
import { Group, Text } from "@mantine/core";
import { Problem } from "../api/problem";
import { endOf, isEnd } from "../decisions/record";
import type { AuditEvent } from "../events/row";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { Who } from "../parts/Who";
import classes from "./Chain.module.css";
import { decidedBy, OTHER, useDecision, withoutPolicy } from "./decision";
import { PolicyNames } from "./PolicyNames";

export function Reason({ event }: { event: AuditEvent }) {
  if (isEnd(event)) return <OfApproval event={event} />;
  return <OfDecision event={event} />;
}

function OfDecision({ event }: { event: AuditEvent }) {
  const { id, decision, isOther, error } = useDecision(event);
  if (decision) {
    const { policies, version } = decidedBy(decision);
    return (
      <Told result={decision.result} reason={decision.metadata.reason}>
        {policies.length > 0 ? (
          <>
            Decided by <PolicyNames decision={decision} />
          </>
        ) : (
          withoutPolicy(decision)
        )}
        {version !== undefined && (
          <>
            {" "}
            (<To path={`/policies/versions/${version}`}>version {version}</To>)
          </>
        )}
      </Told>
    );
  }
  if (isOther) return <Unknown>{OTHER}</Unknown>;
  if (id !== undefined && error instanceof Problem && error.status === 404) {
    return <Unknown>The decision that this event names is not in the trail.</Unknown>;
  }
  if (id === undefined && event.result === "denied") {
    return (
      <Unknown>This event isn't linked to a decision, so Watchbell doesn't know why it was denied.</Unknown>
    );
  }
  return null;
}

function OfApproval({ event }: { event: AuditEvent }) {
  const { reason, by, note } = endOf(event).metadata;
  return (
    <Told result={event.result} reason={reason}>
      {by && (
        <>
          Answered by <Who id={by} />
        </>
      )}
      {note && `: “${note}”`}
    </Told>
  );
}

function Told(props: { result: string; reason: string | undefined; children: React.ReactNode }) {
  const { result, reason, children } = props;
  return (
    <div className={classes.reason} data-result={result} data-testid="reason">
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Mark word={result} />
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {reason ?? "No reason is recorded."}
        </Text>
      </Group>
      <Text size="sm" className="quiet" component="div" mt={2} style={{ overflowWrap: "anywhere" }}>
        {children}
      </Text>
    </div>
  );
}

function Unknown({ children }: { children: React.ReactNode }) {
  return (
    <Text size="sm" className={`${classes.reason} quiet`} data-testid="reason">
      {children}
    </Text>
  );
}
