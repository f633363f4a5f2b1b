// One request for approval: the question, the payload, and the buttons to approve or deny.
import { Alert, Anchor, Button, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { queries, useMayManage } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { duration } from "../parts/clock";
import { Facts } from "../parts/Facts";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { standing } from "../policies/queries";
import { TimelineOf } from "../why/TimelineOf";
import { VersionLink } from "./DecisionPanel";
import type { Question as Asked } from "./model";
import { Question } from "./Question";
import { TimeLeft } from "./Queue";
import { Side } from "./Side";
import { approval as approvalQuery, hear } from "./waiting";

type Detail = Body<"DecisionDetail">;

/** The longest note that the server takes. */
const NOTE_CHARS_MAX = 500;

export function ApprovalPanel({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  if (id === undefined) return null;
  return (
    <Side title="Approval" onClose={onClose}>
      <Shown key={id} id={id} />
    </Side>
  );
}

function Shown({ id }: { id: string }) {
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
          {isWaiting(detail) ? <Resolve detail={detail} /> : <Outcome detail={detail} />}
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
            {detail.payload ? (
              <Json value={detail.payload} />
            ) : (
              <Text size="sm" className="quiet">
                The agent sent no payload, or it has expired: payloads are kept for 15 days.
              </Text>
            )}
          </section>
          <Facts of={factsOf(detail)} />
          <TimelineOf decision={id} />
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

function Resolve({ detail }: { detail: Detail }) {
  const id = detail.decision_id;
  const [note, setNote] = useState("");
  const mayManage = useMayManage();
  const settings = useQuery(standing).data?.settings;
  const resolve = useMutation({
    mutationFn: (approve: boolean) => {
      const body = { approve, note: note.trim() === "" ? undefined : note };
      return answer(api.POST("/v1/runtime/decisions/{id}/resolve", { params: { path: { id } }, body }));
    },
    onSuccess: (now, approve) => {
      queries.setQueryData(approvalQuery(id).queryKey, now);
      hear(now);
      const message = `${detail.action} by ${detail.agent_id}`;
      notifications.show({
        title: approve ? "Approved" : "Denied",
        message,
        color: approve ? "teal" : "red",
      });
    },
    // Somebody was quicker, or the time is over: what is shown is not how it stands.
    onError: (error) => {
      if (!(error instanceof Problem && error.status === 409)) return;
      void queries.invalidateQueries({ queryKey: ["approvals"] });
      notifications.show({ title: "Too late", message: error.message, color: "yellow" });
    },
  });
  const isLate = resolve.error instanceof Problem && resolve.error.status === 409;
  return (
    <Stack gap="sm" component="section" aria-label="Your answer">
      {detail.expires_at && (
        <Group justify="flex-start">
          <TimeLeft until={detail.expires_at} />
        </Group>
      )}
      <Textarea
        label="Note"
        description="Optional. Sent to the agent and recorded in the trail."
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        maxLength={NOTE_CHARS_MAX}
        autosize
        minRows={2}
        disabled={!mayManage}
      />
      <Group>
        <Button
          onClick={() => resolve.mutate(true)}
          loading={resolve.isPending && resolve.variables}
          disabled={!mayManage || resolve.isPending}
        >
          Approve
        </Button>
        <Button
          variant="default"
          onClick={() => resolve.mutate(false)}
          loading={resolve.isPending && !resolve.variables}
          disabled={!mayManage || resolve.isPending}
        >
          Deny
        </Button>
      </Group>
      {!mayManage && (
        <Text size="sm" className="quiet">
          Only admins and owners can approve or deny.
        </Text>
      )}
      {resolve.isError && !isLate && <Trouble error={resolve.error} />}
      <Text size="sm" className="quiet">
        An approval covers this exact request, including its payload, and can be used once
        {settings && ` within ${duration(settings.approval_valid_s * 1_000)}`}. It lifts only the need for
        approval: the request is evaluated again, and whatever another policy forbids stays forbidden.
      </Text>
    </Stack>
  );
}

const OUTCOMES: Record<string, { title: string; color: string }> = {
  approved: { title: "Approved", color: "teal" },
  denied: { title: "Denied", color: "red" },
  timed_out: { title: "Auto-denied: no one answered in time", color: "gray" },
};

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
  const { title, color } = OUTCOMES[resolution.outcome] ?? { title: resolution.outcome, color: "gray" };
  return (
    <Alert color={color} title={title} role="status" data-testid="outcome">
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
      {resolution.outcome === "approved" && (
        <Text size="sm">{detail.spent_by ? "The agent has used it." : "The agent has not used it yet."}</Text>
      )}
    </Alert>
  );
}
