// One request for approval: the question, the payload, and the buttons to approve or deny.
import { Alert, Anchor, Button, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../api/client";
import { Answered } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { duration } from "../parts/clock";
import { Facts } from "../parts/Facts";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { standing } from "../policies/queries";
import { VersionLink } from "./DecisionPanel";
import { batchOf, useHeld } from "./held";
import { type Question as Asked, OUTCOMES } from "./model";
import { Question } from "./Question";
import { Held, TimeLeft } from "./Queue";
import classes from "./Queue.module.css";
import { Shown } from "./Shown";
import { Side } from "./Side";
import type { Triage } from "./triage";
import { approval as approvalQuery } from "./waiting";

type Detail = Body<"DecisionDetail">;

/** The longest note that the server takes. */
const NOTE_CHARS_MAX = 500;

interface PanelProps {
  id: string | undefined;
  triage: Triage;
  onClose: () => void;
}

export function ApprovalPanel({ id, triage, onClose }: PanelProps) {
  if (id === undefined) return null;
  return (
    <Side title="Approval" onClose={onClose}>
      <One key={id} id={id} triage={triage} />
    </Side>
  );
}

/** What is asked first, then the buttons: nobody has to answer what they have not seen. */
function One({ id, triage }: { id: string; triage: Triage }) {
  const query = useQuery(approvalQuery(id));
  return (
    <Answered query={query}>
      {(detail) => (
        <Stack gap="md">
          <div>
            <Text fw={600}>{detail.reason}</Text>
            <Text size="sm" className="quiet">
              Reason for approval
            </Text>
          </div>
          <Shown facts={detail.facts} />
          {!isWaiting(detail) && <Outcome detail={detail} />}
          <section>
            <Title order={3} size="h6" mb={6}>
              Request
            </Title>
            <Question question={detail.question as unknown as Asked} />
          </section>
          <section>
            <Title order={3} size="h6" mb={6}>
              Payload to be sent
            </Title>
            {detail.payload != null ? (
              <Json value={detail.payload} />
            ) : (
              <Text size="sm" className="quiet">
                The agent sent no payload, or it has expired: payloads are kept for 15 days.
              </Text>
            )}
          </section>
          <Facts of={factsOf(detail)} />
          {isWaiting(detail) && <Resolve detail={detail} triage={triage} />}
        </Stack>
      )}
    </Answered>
  );
}

/** A decision that was never escalated waits for nobody. */
function isWaiting({ decision, resolution }: Detail): boolean {
  return decision === "escalate" && !resolution;
}

function factsOf(detail: Detail) {
  return {
    "Required by": detail.policies.join(", "),
    "Policy version": detail.policy_version && <VersionLink version={detail.policy_version} />,
    "Earlier activity": <Before detail={detail} />,
    Requested: <When at={detail.decided_at} exact />,
    "Auto-denied at": detail.expires_at && isWaiting(detail) && <When at={detail.expires_at} exact />,
    "Used by": detail.spent_by && (
      <Anchor component={Link} to="/decisions" search={{ decision: detail.spent_by } as never} size="sm">
        {detail.spent_by}
      </Anchor>
    ),
    Decision: (
      <Id id={detail.decision_id}>
        <Anchor component={Link} to="/decisions" search={{ decision: detail.decision_id } as never} size="sm">
          {detail.decision_id}
        </Anchor>
      </Id>
    ),
  };
}

/** What the agent did before: in the same session, if it named one. */
function Before({ detail: { session_id, agent_id } }: { detail: Detail }) {
  if (session_id) {
    return (
      <To path="/timeline" with={{ session_id }}>
        Session {session_id}
      </To>
    );
  }
  return (
    <To path="/events" with={{ agent_id, last: "24h" }}>
      Everything {agent_id} did in 24 hours
    </To>
  );
}

function Resolve({ detail, triage }: { detail: Detail; triage: Triage }) {
  const id = detail.decision_id;
  const { mayManage } = triage;
  const settings = useQuery(standing).data?.settings;
  const batch = batchOf(useHeld(), id);
  return (
    <Stack gap="sm" component="section" aria-label="Your answer">
      <Textarea
        label="Note"
        description="Optional. Sent to the agent and recorded in the trail."
        value={triage.noteOf(id)}
        onChange={(event) => triage.setNote(id, event.currentTarget.value)}
        maxLength={NOTE_CHARS_MAX}
        autosize
        minRows={2}
        disabled={!mayManage || batch !== undefined}
      />
      <Text size="sm" className="quiet">
        An approval covers this exact request, including its payload, and can be used once
        {settings && ` within ${duration(settings.approval_valid_s * 1_000)}`}. Other policies still apply.
      </Text>
      {!mayManage && (
        <Text size="sm" className="quiet">
          Only admins and owners can approve or deny.
        </Text>
      )}
      <Group className={classes.answers} justify="space-between">
        {batch ? (
          <Held batch={batch} />
        ) : (
          <>
            <Group>
              <Button onClick={() => triage.answer([detail], true)} disabled={!mayManage}>
                Approve
              </Button>
              <Button variant="default" onClick={() => triage.answer([detail], false)} disabled={!mayManage}>
                Deny
              </Button>
            </Group>
            {detail.expires_at && <TimeLeft until={detail.expires_at} />}
          </>
        )}
      </Group>
    </Stack>
  );
}

const COLORS: Record<string, string> = { approved: "teal", denied: "red" };

function Outcome({ detail }: { detail: Detail }) {
  const { resolution } = detail;
  if (!resolution) {
    return (
      <Group gap="xs">
        <Mark word={detail.decision} />
        <Text size="sm">This decision is not waiting for approval.</Text>
      </Group>
    );
  }
  const { outcome } = resolution;
  return (
    <Alert
      color={COLORS[outcome] ?? "gray"}
      title={OUTCOMES[outcome] ?? outcome}
      role="status"
      data-testid="outcome"
    >
      <Text size="sm">
        <When at={resolution.at} />
        {resolution.by && (
          <>
            {" "}
            by <Who id={resolution.by} />
          </>
        )}
      </Text>
      {resolution.note && <Text size="sm">“{resolution.note}”</Text>}
      {outcome === "approved" && (
        <Text size="sm">{detail.spent_by ? "The agent has used it." : "The agent has not used it yet."}</Text>
      )}
    </Alert>
  );
}
