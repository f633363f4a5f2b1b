// The queue: each request on a card, with the facts its policy shows and the time left until it is denied automatically.
import { Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { IconChecklist } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { useNow } from "../parts/clock";
import { When } from "../parts/When";
import { takeBack, useSecondsLeft } from "./answers";
import { type Batch, batchOf, useHeld } from "./held";
import classes from "./Queue.module.css";
import { Shown } from "./Shown";
import type { Triage } from "./triage";
import { type Approval, timeLeft } from "./waiting";

interface QueueProps {
  query: UseQueryResult<Body<"ApprovalPage">>;
  selected: string | undefined;
  onOpen: (id: string) => void;
  triage: Triage;
}

export function Queue({ query, selected, onOpen, triage }: QueueProps) {
  return (
    <Answered query={query} isEmpty={({ data }) => data.length === 0} empty={<NothingWaits />}>
      {(page) => (
        <>
          <Text size="sm" className="quiet" mb="xs">
            {page.data.length === 1 ? "1 request is waiting" : `${page.data.length} requests are waiting`},
            oldest first.
            {page.next_cursor && " More appear as these are resolved."}
          </Text>
          {triage.mayManage && page.data.length > 1 && <Several waiting={page.data} triage={triage} />}
          <Cards waiting={page.data} selected={selected} onOpen={onOpen} triage={triage} />
        </>
      )}
    </Answered>
  );
}

/** Answers several at once. */
function Several({ waiting, triage }: { waiting: Approval[]; triage: Triage }) {
  const { picked, pick, answer } = triage;
  const isAll = picked.length === waiting.length;
  return (
    <Group gap="sm" mb="xs" className={classes.several} role="group" aria-label="Selected requests">
      <Checkbox
        size="sm"
        label={picked.length === 0 ? "Select all" : `${picked.length} selected`}
        checked={isAll}
        indeterminate={picked.length > 0 && !isAll}
        onChange={() => pick(isAll ? [] : waiting.map(({ decision_id }) => decision_id))}
      />
      {picked.length > 0 && (
        <>
          <Button size="compact-sm" onClick={() => answer(picked, true)}>
            Approve {picked.length}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => answer(picked, false)}>
            Deny {picked.length}
          </Button>
        </>
      )}
    </Group>
  );
}

function Cards({ waiting, selected, onOpen, triage }: { waiting: Approval[] } & Omit<QueueProps, "query">) {
  const held = useHeld();
  return (
    <Stack gap="xs" component="ul" className={classes.queue} aria-label="Waiting, oldest first">
      {waiting.map((approval) => (
        <Card
          key={approval.decision_id}
          approval={approval}
          batch={batchOf(held, approval.decision_id)}
          isOpen={approval.decision_id === selected}
          onOpen={() => onOpen(approval.decision_id)}
          triage={triage}
        />
      ))}
    </Stack>
  );
}

interface CardProps {
  approval: Approval;
  /** The answer that is about to be sent. */
  batch: Batch | undefined;
  isOpen: boolean;
  onOpen: () => void;
  triage: Triage;
}

function Card({ approval, batch, isOpen, onOpen, triage }: CardProps) {
  const { decision_id, agent_id, action, resource, reason, facts, decided_at, expires_at } = approval;
  const name = `${action}${resource ? ` on ${resource}` : ""} by ${agent_id}`;
  return (
    <li className={classes.card} data-open={isOpen} data-approval={decision_id}>
      {triage.mayManage && (
        <Checkbox
          size="sm"
          aria-label={`Select ${name}`}
          checked={triage.picked.includes(approval)}
          disabled={batch !== undefined}
          onChange={() => triage.toggle(decision_id)}
        />
      )}
      <div className={classes.what}>
        <Text fw={600}>
          {agent_id} ·{" "}
          <Text span className="mono" fw={600}>
            {action}
          </Text>
          {resource && (
            <>
              {" "}
              ·{" "}
              <Text span className="mono" fw={600}>
                {resource}
              </Text>
            </>
          )}
        </Text>
        <Shown facts={facts} />
        <Text size="sm">{reason}</Text>
        <Text size="xs" className="quiet">
          requested <When at={decided_at} />
        </Text>
      </div>
      <Group gap="sm" wrap="nowrap">
        {batch ? <Held batch={batch} /> : expires_at && <TimeLeft until={expires_at} />}
        <Button size="xs" onClick={onOpen} aria-label={`Review ${name}`} data-review>
          Review
        </Button>
      </Group>
    </li>
  );
}

/** An answer that was given and can still be undone. */
export function Held({ batch }: { batch: Batch }) {
  const left = useSecondsLeft(batch);
  const doing = batch.approve ? "Approving" : "Denying";
  if (batch.isSending) return <Text size="sm">{doing}…</Text>;
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm">
        {doing} in <span className="mono">{left} s</span>
      </Text>
      <Button size="xs" variant="default" onClick={() => takeBack(batch.id)} data-undo>
        Undo
      </Button>
    </Group>
  );
}

/** Below this one sees that it is urgent. */
const URGENT_MS = 60_000;

export function TimeLeft({ until }: { until: string }) {
  const now = useNow();
  const left = timeLeft(until, now);
  const isUrgent = Date.parse(until) - now.getTime() < URGENT_MS;
  return (
    <Text size="sm" ta="right" fw={isUrgent ? 650 : 400} className={isUrgent ? undefined : "quiet"}>
      {left === undefined ? (
        "auto-denied: time is up"
      ) : (
        <>
          auto-denied in <span className="mono">{left}</span>
        </>
      )}
    </Text>
  );
}

function NothingWaits() {
  return (
    <Empty
      title="No pending approvals"
      icon={<IconChecklist size={26} />}
      action={
        <Button component={Link} to="/policies/new" variant="default">
          Write a policy that asks a person
        </Button>
      }
    >
      A policy with <span className="mono">@verdict("escalate")</span> asks a person instead of denying. The
      agent's request then appears here automatically, with the payload it is about to send, until someone
      approves or denies it or it times out.
    </Empty>
  );
}
