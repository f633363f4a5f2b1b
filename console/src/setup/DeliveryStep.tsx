// Step 5: the webhook as it is sent, and the receiver's response.
import { Alert, Anchor, Code, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { STATE_WORDS } from "../deliveries/states";
import { Answered, Trouble } from "../parts/Answered";
import { Snippets } from "../parts/Copy";
import { duration } from "../parts/clock";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { SendHere } from "./SendStep";
import { Step } from "./Step";
import { VERIFYING } from "./snippets";
import type { TrailEvent } from "./trail";

/** Somebody sits and waits for it, so at first it is asked for often; then as other screens do. */
const EAGER_MS = 1_000;
const EAGER_TIMES = 30;
const PATIENT_MS = 5_000;

/** An event becomes a delivery within this time, or its rule did not match. */
const SOON_MS = 60_000;

/** The newest delivery of the rule, asked for again until it has reached somebody and no later event may follow. */
function useNewestDelivery(rule: string | undefined, event: TrailEvent | undefined) {
  const sent = Date.parse(event?.received_at ?? "");
  return useQuery({
    queryKey: ["setup", "delivery", rule],
    enabled: rule !== undefined,
    queryFn: async () => {
      const query = { rule_id: rule, limit: 1 };
      const [newest] = (await answer(api.GET("/v1/deliveries", { params: { query } }))).data;
      if (newest === undefined) return null;
      return await answer(api.GET("/v1/deliveries/{id}", { params: { path: { id: newest.id } } }));
    },
    refetchInterval: ({ state }) => {
      const isNew = sent > Math.max(Date.parse(state.data?.matched_at ?? ""), Date.now() - SOON_MS);
      if (state.data?.state === "delivered" && !isNew) return false;
      return state.dataUpdateCount < EAGER_TIMES ? EAGER_MS : PATIENT_MS;
    },
  });
}

interface DeliveryStepProps {
  rule: Body<"Rule"> | undefined;
  event: TrailEvent | undefined;
}

export function DeliveryStep({ rule, event }: DeliveryStepProps) {
  const newest = useNewestDelivery(rule?.id, event);
  return (
    <Step
      number={5}
      title="See the webhook arrive"
      lead="Send a matching event and watch the webhook arrive."
      isDone={newest.data?.state === "delivered"}
      isOpen={rule !== undefined}
    >
      {rule && (
        <Stack gap="sm">
          <Group gap="sm" align="flex-start">
            <SendHere label="Send a matching event" />
            <TryOut rule={rule} event={event} />
          </Group>
          <Answered query={newest} isEmpty={(delivery) => delivery === null} empty={<Waiting />}>
            {(delivery) => delivery && <Sent delivery={delivery} event={event} />}
          </Answered>
          <Title order={3} size="h6">
            Verify webhooks in your own code
          </Title>
          <Text size="sm" className="quiet">
            Find the secret under{" "}
            <Anchor component={Link} to="/signing-secrets" size="sm" underline="always">
              Signing secrets
            </Anchor>
            . Until your organization has its own, the server's operator has it. Verify the raw body, before
            you parse it.
          </Text>
          <Snippets of="code to verify webhooks" in={VERIFYING} />
        </Stack>
      )}
    </Step>
  );
}

function Waiting() {
  return (
    <Group gap="sm" role="status" data-state="waiting">
      <Loader size="xs" />
      <Text size="sm">This rule has not sent anything yet. Waiting for its first webhook.</Text>
    </Group>
  );
}

/** A webhook on purpose, which no event caused. */
function TryOut({ rule, event }: { rule: Body<"Rule">; event: TrailEvent | undefined }) {
  const trigger = useMutation({
    mutationFn: () => {
      const path = { id: rule.id };
      const body = event === undefined ? {} : { event_id: event.id };
      return answer(api.POST("/v1/alert-rules/{id}/trigger", { params: { path }, body }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["setup", "delivery", rule.id] }),
  });
  return (
    <>
      <ManageButton variant="default" onClick={() => trigger.mutate()} loading={trigger.isPending}>
        Send a test delivery
      </ManageButton>
      {trigger.isError && <Trouble error={trigger.error} />}
    </>
  );
}

function Sent({ delivery, event }: { delivery: Body<"DeliveryDetail">; event: TrailEvent | undefined }) {
  const last = delivery.attempt_log.at(-1);
  const since = delivery.event_id === event?.id ? event.received_at : delivery.matched_at;
  const took = last && Date.parse(last.finished_at) - Date.parse(since);
  const isThere = delivery.state === "delivered";
  return (
    <Alert
      color={isThere ? "teal" : "blue"}
      icon={isThere ? <IconCircleCheck /> : <Loader size="xs" />}
      title={isThere ? "The webhook arrived" : "The webhook is on its way"}
      data-delivery={delivery.id}
      data-delivery-state={delivery.state}
      role="status"
    >
      <Stack gap={6}>
        <Group gap="xs">
          <Mark word={delivery.state}>{STATE_WORDS[delivery.state]}</Mark>
          {last?.status && <Text size="sm">the receiver returned {last.status}</Text>}
          {last?.answer && <Code>{last.answer.slice(0, 120)}</Code>}
          {isThere && took !== undefined && (
            <Text size="sm">{duration(Math.max(took, 0))} after the event was accepted</Text>
          )}
        </Group>
        {!isThere && <Text size="sm">{delivery.explanation}</Text>}
        <Anchor component={Link} to={`/deliveries/${delivery.id}`} size="sm">
          View this delivery and its attempts
        </Anchor>
      </Stack>
    </Alert>
  );
}
