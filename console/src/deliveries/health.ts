// Describes the health of an endpoint in words.
import type { Body } from "../api/client";

type Endpoint = Body<"Endpoint">;

export interface Health {
  /** A word with a color. */
  word: string;
  label: string;
  about: string;
}

export function healthOf(endpoint: Endpoint): Health {
  if (endpoint.status === "disabled") {
    return {
      word: "down",
      label: "disabled",
      about:
        endpoint.disabled_why === "gone"
          ? "It returned 410 Gone twice. Nothing is sent until someone resumes it."
          : "It failed for three days without a single success. Nothing is sent until someone resumes it.",
    };
  }
  if (endpoint.status === "paused") {
    return {
      word: "paused",
      label: "paused",
      about: "Someone paused it. Nothing is sent until it is resumed.",
    };
  }
  if (endpoint.breaker) {
    return {
      word: "error",
      label: "breaker open",
      about:
        "It failed too many times in a row. One delivery at a time is sent as a probe; the first success releases the rest.",
    };
  }
  if (endpoint.quiet_until) {
    return {
      word: "medium",
      label: "backing off",
      about: "The receiver asked us to wait. Sending resumes automatically.",
    };
  }
  if (endpoint.failing) {
    return {
      word: "error",
      label: "failing",
      about: "The last attempts failed. Each delivery is retried.",
    };
  }
  return { word: "ok", label: "healthy", about: "No recent failures." };
}

export const NOTICES: Record<string, string> = {
  breaker_opened: "Failed too often: only probes are sent until it recovers",
  breaker_closed: "Responds again: all deliveries are sent",
  failing_15_minutes: "Failing for 15 minutes",
  failing_1_hour: "Failing for an hour",
  failing_1_day: "Failing for a day",
  rejecting: "Rejects deliveries",
  redirecting: "Redirects deliveries; redirects are never followed",
  disabled: "Disabled",
  paused: "Paused",
  resumed: "Resumed",
  unverified: "Did not return the challenge: nothing is sent",
  verified: "Returned the challenge",
};

export interface Tally {
  delivered: number;
  failed: number;
  waiting: number;
}

/** How deliveries ended. What was never sent says nothing about the endpoint. */
export function tallyOf(deliveries: Body<"DeliveryBody">[]): Tally {
  const count = (...states: string[]) => deliveries.filter(({ state }) => states.includes(state)).length;
  return {
    delivered: count("delivered"),
    failed: count("failed"),
    waiting: count("pending", "scheduled", "held"),
  };
}

/** Such as `97.5%`, of those that ended; nothing if none did. */
export function rateOf({ delivered, failed }: Tally): string | undefined {
  const ended = delivered + failed;
  return ended === 0 ? undefined : `${((delivered / ended) * 100).toFixed(1).replace(/\.0$/, "")}%`;
}

/** What was told several times in a row is told once, as of the newest, with how often. */
export function runs(notices: Body<"EndpointNotice">[]): (Body<"EndpointNotice"> & { times: number })[] {
  const told: (Body<"EndpointNotice"> & { times: number })[] = [];
  for (const one of notices) {
    const last = told.at(-1);
    if (last?.notice === one.notice && last.error === one.error) last.times += 1;
    else told.push({ ...one, times: 1 });
  }
  return told;
}
