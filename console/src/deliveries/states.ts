// The states of deliveries, as people look for them.
import type { Body } from "../api/client";

/** How far back is looked unless something else is chosen: as long as most keep their record. */
export const USUAL = "30d";

/** What can be chosen, and the states of the API that are meant by it. */
export const VIEWS: { id: string; name: string; states: string[]; about: string }[] = [
  { id: "all", name: "All", states: [], about: "" },
  {
    id: "underway",
    name: "In progress",
    states: ["pending", "scheduled"],
    about: "Due now, or waiting for the next attempt.",
  },
  { id: "delivered", name: "Delivered", states: ["delivered"], about: "The receiver returned 2xx." },
  {
    id: "held",
    name: "Held",
    states: ["held"],
    about:
      "Nothing is sent for now: the endpoint is paused, disabled, not verified, or has failed too often.",
  },
  {
    id: "failed",
    name: "Failed",
    states: ["failed"],
    about: "No further attempts will be made unless you resend.",
  },
  {
    id: "canceled",
    name: "Canceled",
    states: ["canceled"],
    about: "Canceled by a person, or because the rule was deleted.",
  },
  {
    id: "unsent",
    name: "Not sent",
    states: ["suppressed", "snoozed", "shadow"],
    about: "Recorded but not sent: suppressed, snoozed or in shadow.",
  },
];

/** The view that shows exactly these states. */
export function viewOf(states: string[]): string | undefined {
  const wanted = [...states].sort().join();
  return VIEWS.find((view) => [...view.states].sort().join() === wanted)?.id;
}

/** The words of a state, where the API's is not plain enough. */
export const STATE_WORDS: Record<string, string> = { scheduled: "retrying" };

export const REASONS: Record<string, string> = {
  paused: "the endpoint is paused",
  disabled: "the endpoint is disabled",
  breaker: "the endpoint failed too often; only probes are sent",
  retry_after: "the receiver asked us to wait",
  unverified: "the endpoint has not returned the challenge",
  blocked: "the address is not allowed",
  exhausted: "every attempt failed",
  expired: "it ran out of time",
  permanent: "the receiver permanently rejected it",
  user: "someone canceled it",
  rule_deleted: "its rule was deleted",
};

export const CAUSES: Record<string, string> = {
  match: "an event matched",
  summary: "a summary of suppressed alerts",
  test: "a test",
};

/** Whether it changes by itself. */
export function isUnderWay(delivery: Body<"DeliveryBody">): boolean {
  return ["pending", "scheduled"].includes(delivery.state);
}

/** Whether it can be called off. */
export function isCancelable(delivery: Body<"DeliveryBody">): boolean {
  return ["pending", "scheduled", "held"].includes(delivery.state);
}

/** Whether it can be sent again. What is on its way already cannot. */
export function isResendable(delivery: Body<"DeliveryBody">): boolean {
  return ["delivered", "failed", "canceled", "held"].includes(delivery.state);
}
