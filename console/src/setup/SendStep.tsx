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
import { useSetupKey } from "./KeyStep";
import { Step } from "./Step";
import { EXAMPLE, sending } from "./snippets";
import type { TrailEvent } from "./trail";

/** Stands for the key in the code while there is none. */
const NO_KEY = "YOUR_API_KEY";

export function SendStep({ isDone }: { isDone: boolean }) {
  const [key] = useSetupKey();
  const server = useQuery(about).data?.public_url ?? window.location.origin;
  return (
    <Step
      number={2}
      title="Send an event"
      lead="Run this where your agent runs, or send an event from this page. The code uses the key from step 1."
      isDone={isDone}
      isOpen={key !== undefined || isDone}
    >
      <Snippets of="code to send an event" in={sending(server, key?.api_key ?? NO_KEY)} />
      <SendHere />
    </Step>
  );
}

/** A real event from this browser, with the key and without the session. */
export function SendHere({ label = "Send a test event" }: { label?: string }) {
  const [key] = useSetupKey();
  const send = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/audit/events", {
          body: EXAMPLE as never,
          headers: { Authorization: `Bearer ${key?.api_key}` },
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
          disabled={key === undefined}
        >
          {label}
        </Button>
        {key === undefined && (
          <Text size="sm" className="quiet">
            Create a key in step 1 first.
          </Text>
        )}
      </Group>
      {send.isError && <Trouble error={send.error} />}
    </>
  );
}

export function ArriveStep({ event, live }: { event: TrailEvent | undefined; live: LiveState }) {
  const [key] = useSetupKey();
  return (
    <Step
      number={3}
      title="See it arrive"
      lead="Your agents' events appear here as soon as they are accepted."
      isDone={event !== undefined}
      isOpen={key !== undefined || event !== undefined}
    >
      {event === undefined ? (
        <Group gap="sm" role="status" data-state="waiting">
          <Loader size="xs" />
          <Text size="sm">
            {live === "open"
              ? "Listening. Send an event and it will appear here."
              : "Connecting to the live trail…"}
          </Text>
        </Group>
      ) : (
        <Arrived event={event} />
      )}
    </Step>
  );
}

function Arrived({ event }: { event: TrailEvent }) {
  return (
    <div data-event={event.id}>
      <Group gap="xs" mb="xs">
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
      <Json value={event} />
    </div>
  );
}
