// Steps 2 and 3: sending an event, and seeing it arrive.
import { Anchor, Button, Group, Loader, Text } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import type { LiveState } from "../api/live";
import { about } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { Id, Snippets } from "../parts/Copy";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { Step } from "./Step";
import { useSetupKey } from "./setupKey";
import { EXAMPLE, sending } from "./snippets";
import type { Arrived, TrailEvent } from "./trail";

/** Stands for the key in the code while there is none. */
const NO_KEY = "YOUR_API_KEY";

export function SendStep({ isDone }: { isDone: boolean }) {
  const { key, text } = useSetupKey();
  const server = useQuery(about).data?.public_url ?? window.location.origin;
  return (
    <Step
      number={2}
      title="Send an event"
      lead={
        key === undefined
          ? "From where your agent runs, or from this page."
          : text === undefined
            ? `Run this where your agent runs, with the text of the key in place of ${NO_KEY}.`
            : "Run this where your agent runs, or send an event from this page. Your key is filled in."
      }
      isDone={isDone}
      isOpen={key !== undefined}
    >
      <Snippets of="code to send an event" in={sending(server, text ?? NO_KEY)} />
      <SendHere />
    </Step>
  );
}

/** A real event from this browser, with the key and without the session. */
export function SendHere({ label = "Send a test event" }: { label?: string }) {
  const { text } = useSetupKey();
  const send = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/audit/events", {
          body: EXAMPLE as never,
          headers: { Authorization: `Bearer ${text}` },
          credentials: "omit",
        }),
      ),
  });
  return (
    <>
      <Group gap="sm">
        <Button
          leftSection={<IconSend size={16} />}
          onClick={() => send.mutate()}
          loading={send.isPending}
          disabled={text === undefined}
        >
          {label}
        </Button>
        {text === undefined && (
          <Text size="sm" className="quiet">
            This page can send only with a key that you create here.
          </Text>
        )}
      </Group>
      {send.isError && <Trouble error={send.error} />}
    </>
  );
}

export function ArriveStep({ arrived, live }: { arrived: Arrived | null | undefined; live: LiveState }) {
  const { key } = useSetupKey();
  return (
    <Step
      number={3}
      title="See it arrive"
      lead={
        key === undefined
          ? "Events of your key appear here as soon as they are accepted."
          : `Events of the key “${key.name}” appear here as soon as they are accepted.`
      }
      isDone={!!arrived}
      isOpen={key !== undefined}
    >
      {!arrived ? (
        <Group gap="sm" role="status" data-state="waiting">
          <Loader size="xs" />
          <Text size="sm">
            {live === "open"
              ? "Listening. Send an event with this key and it will appear here."
              : "Connecting to the live trail…"}
          </Text>
        </Group>
      ) : (
        <>
          <OneLine event={arrived.first} />
          <Json value={arrived.first} />
          {arrived.newest.id !== arrived.first.id && (
            <>
              <Text size="sm" className="quiet" mt="sm">
                The newest since:
              </Text>
              <OneLine event={arrived.newest} />
            </>
          )}
        </>
      )}
    </Step>
  );
}

function OneLine({ event }: { event: TrailEvent }) {
  return (
    <Group gap="xs" mb="xs" data-event={event.id}>
      <Text size="sm" fw={600}>
        {event.agent_id}
      </Text>
      <span className="mono">{event.action}</span>
      <Mark word={event.result} />
      <Text size="sm" className="quiet" component="span">
        <When at={event.received_at} />
      </Text>
      <Id id={event.id}>
        <Anchor component={Link} to="/events" search={{ event: event.id } as never} inherit>
          {event.id}
        </Anchor>
      </Id>
    </Group>
  );
}
