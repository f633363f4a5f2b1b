// Why something happened: from the event through decision, policy and approval to rule, delivery and response.
import { useQuery } from "@tanstack/react-query";
import type { Body } from "../api/client";
import { Problem } from "../api/problem";
import { Agent } from "../events/Agent";
import { eventOf } from "../events/list";
import type { AuditEvent } from "../events/row";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { AlertLinks, DeliveryLinks } from "./AlertLinks";
import classes from "./Chain.module.css";
import { ChainLink } from "./ChainLink";
import { DecisionLinks } from "./DecisionLinks";

/** The chain of an event, with every alert that it raised. */
export default function Chain({ event }: { event: AuditEvent }) {
  return (
    <ol className={classes.chain} aria-label="Why">
      <EventLink event={event} />
      <DecisionLinks event={event} />
      <AlertLinks event={event} />
    </ol>
  );
}

/** The chain that led to one delivery. */
export function DeliveryChain({ delivery }: { delivery: Body<"DeliveryDetail"> }) {
  const { data, error } = useQuery(eventOf(delivery.event_id));
  const isGone = error instanceof Problem && error.status === 404;
  return (
    <ol className={classes.chain} aria-label="Why">
      {isGone ? (
        <ChainLink name="Event" isMissing>
          {delivery.cause === "test"
            ? "This is a test; its event is not in the trail."
            : "The event is no longer in the trail."}
        </ChainLink>
      ) : data ? (
        <>
          <EventLink event={data} />
          <DecisionLinks event={data} />
        </>
      ) : (
        <ChainLink name="Event" error={error} />
      )}
      <DeliveryLinks delivery={delivery} isOpen />
    </ol>
  );
}

function EventLink({ event }: { event: AuditEvent }) {
  return (
    <ChainLink name="Event">
      <Mark word={event.result} />{" "}
      <To path="/events" with={{ event: event.id }}>
        {event.action}
      </To>{" "}
      by <Agent event={event} /> <When at={event.occurred_at} exact />
    </ChainLink>
  );
}
