// The queue: each request on a card, with the time left until it is denied automatically.
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconChecklist } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { KeyboardEvent } from "react";
import type { Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { useNow } from "../parts/clock";
import { When } from "../parts/When";
import classes from "./Queue.module.css";
import { type Approval, timeLeft } from "./waiting";

interface QueueProps {
  query: UseQueryResult<Body<"ApprovalPage">>;
  selected: string | undefined;
  onOpen: (id: string) => void;
}

export function Queue({ query, selected, onOpen }: QueueProps) {
  return (
    <Answered query={query} isEmpty={({ data }) => data.length === 0} empty={<NothingWaits />}>
      {(page) => (
        <>
          <Text size="sm" className="quiet" mb="xs">
            {page.data.length === 1 ? "1 request is waiting" : `${page.data.length} requests are waiting`},
            oldest first.
            {page.next_cursor && " More appear as these are resolved."}
          </Text>
          <Cards waiting={page.data} selected={selected} onOpen={onOpen} />
        </>
      )}
    </Answered>
  );
}

function Cards({ waiting, selected, onOpen }: { waiting: Approval[] } & Omit<QueueProps, "query">) {
  /** Goes to the next card, and opens it while one is open. */
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const next = Math.min(Math.max(at + by, 0), waiting.length - 1);
    buttons[next]?.focus();
    const approval = waiting[next];
    if (approval && selected !== undefined) onOpen(approval.decision_id);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: j and k work wherever in the queue the focus is.
    <div onKeyDown={onKeyDown}>
      <Stack gap="xs" component="ul" className={classes.queue} aria-label="Waiting, oldest first">
        {waiting.map((approval) => (
          <Card
            key={approval.decision_id}
            approval={approval}
            isOpen={approval.decision_id === selected}
            onOpen={() => onOpen(approval.decision_id)}
          />
        ))}
      </Stack>
    </div>
  );
}

function Card({ approval, isOpen, onOpen }: { approval: Approval; isOpen: boolean; onOpen: () => void }) {
  const { agent_id, action, resource, reason, decided_at, expires_at } = approval;
  return (
    <li className={classes.card} data-open={isOpen}>
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
        <Text size="sm">{reason}</Text>
        <Text size="xs" className="quiet">
          requested <When at={decided_at} />
        </Text>
      </div>
      <Group gap="sm" wrap="nowrap">
        {expires_at && <TimeLeft until={expires_at} />}
        <Button size="xs" onClick={onOpen} aria-label={`Review ${action} by ${agent_id}`}>
          Review
        </Button>
      </Group>
    </li>
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
