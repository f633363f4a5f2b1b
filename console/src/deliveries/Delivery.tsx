// One delivery: its state and why, every attempt, and what can be done.
import { Box, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Answered } from "../parts/Answered";
import { Confirm } from "../parts/Confirm";
import { Id } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { DeliveryChain } from "../why/Chain";
import { CAUSES, isCancelable, isResendable, isUnderWay, STATE_WORDS } from "./states";
import { Timeline } from "./Timeline";

/** While it is under way, so that an attempt is seen soon after it was made. */
const ASK_EVERY_MS = 3_000;

export default function Delivery() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const delivery = useQuery({
    queryKey: ["delivery", id],
    queryFn: () => answer(api.GET("/v1/deliveries/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? ASK_EVERY_MS : false),
  });
  return (
    <Page
      title={delivery.data ? `Delivery for “${delivery.data.rule_name}”` : "Delivery"}
      lead={<Id id={id} />}
      actions={delivery.data && <Actions delivery={delivery.data} />}
    >
      <Answered query={delivery}>{(data) => <Loaded delivery={data} />}</Answered>
    </Page>
  );
}

const COLORS: Record<string, string> = {
  delivered: "teal",
  failed: "red",
  held: "orange",
  scheduled: "yellow",
};

function Loaded({ delivery }: { delivery: Body<"DeliveryDetail"> }) {
  const { state } = delivery;
  return (
    <>
      <Box
        className="surface"
        p="md"
        data-delivery={state}
        style={{ borderLeft: `4px solid var(--mantine-color-${COLORS[state] ?? "gray"}-6)` }}
      >
        <Group gap="xs" mb={4}>
          <Mark word={state}>{STATE_WORDS[state]}</Mark>
          {delivery.next_at && isUnderWay(delivery) && (
            <Text size="sm" span>
              next attempt <When at={delivery.next_at} />
            </Text>
          )}
        </Group>
        <Text size="sm" aria-live="polite">
          {delivery.explanation}
        </Text>
      </Box>
      <Panel>
        <Facts
          of={{
            Rule: <To path={`/rules/${delivery.rule_id}`}>{delivery.rule_name}</To>,
            Event: (
              <To path="/events" with={{ event: delivery.event_id }}>
                {delivery.event_type}
              </To>
            ),
            Cause: `${CAUSES[delivery.cause] ?? delivery.cause}${delivery.suppressed > 0 ? ` (${delivery.suppressed})` : ""}`,
            Matched: <When at={delivery.matched_at} />,
            Endpoint: (
              <To path={`/endpoints/${delivery.endpoint_id}`}>
                <span className="mono">{delivery.url}</span>
              </To>
            ),
          }}
        />
      </Panel>
      {!delivery.fresh && (
        <Text size="xs" className="quiet">
          The record is slightly behind; the latest attempts may be missing.
        </Text>
      )}
      <Timeline delivery={delivery} />
      <Panel title="Why?">
        <DeliveryChain delivery={delivery} />
      </Panel>
    </>
  );
}

function Actions({ delivery }: { delivery: Body<"DeliveryDetail"> }) {
  const { id } = delivery;
  const [asking, setAsking] = useState<"resend" | "cancel">();
  const act = (what: "resend" | "cancel") => {
    const params = { path: { id } };
    return what === "resend"
      ? answer<unknown>(api.POST("/v1/deliveries/{id}/resend", { params }))
      : answer<unknown>(api.POST("/v1/deliveries/{id}/cancel", { params }));
  };
  const done = (what: "resend" | "cancel") => {
    setAsking(undefined);
    queries.invalidateQueries({ queryKey: ["delivery", id] });
    queries.invalidateQueries({ queryKey: ["deliveries"] });
    notifications.show({
      title: what === "resend" ? "Resending" : "Canceled",
      message: what === "resend" ? "The next attempt is due now." : "No further attempts will be made.",
      color: "teal",
    });
  };
  return (
    <>
      <ManageButton
        variant="default"
        because={isCancelable(delivery) ? undefined : "Nothing is waiting to be sent."}
        onClick={() => setAsking("cancel")}
      >
        Cancel
      </ManageButton>
      <ManageButton
        because={isResendable(delivery) ? undefined : "It is still in progress, or its rule did not send it."}
        onClick={() => setAsking("resend")}
      >
        Resend
      </ManageButton>
      {asking && (
        <Confirm
          title={asking === "cancel" ? "Cancel this delivery?" : "Resend this delivery?"}
          action={asking === "cancel" ? "Cancel delivery" : "Resend delivery"}
          back={asking === "cancel" ? "Go back" : undefined}
          isMild={asking === "resend"}
          act={() => act(asking)}
          done={() => done(asking)}
          close={() => setAsking(undefined)}
        >
          <Text size="sm">
            {asking === "cancel"
              ? "No further attempts will be made. An attempt already in progress is not interrupted. You can resend the delivery later."
              : "It keeps its ID, so a receiver that already has it can recognize it. It gets a new retry schedule and goes to the rule's current URL."}
          </Text>
        </Confirm>
      )}
    </>
  );
}
