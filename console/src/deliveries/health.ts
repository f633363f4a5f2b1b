// How an endpoint does, in words.
import type { Body } from "../api/client";

type Endpoint = Body<"Endpoint">;

export interface Health {
  /** A word with a colour. */
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
          ? "It said that it is gone (410), twice. Nothing is sent until somebody resumes it."
          : "It failed for three days without one success. Nothing is sent until somebody resumes it.",
    };
  }
  if (endpoint.status === "paused") {
    return {
      word: "paused",
      label: "paused",
      about: "Somebody paused it. Nothing is sent until it is resumed.",
    };
  }
  if (endpoint.breaker) {
    return {
      word: "error",
      label: "breaker open",
      about:
        "It failed too often in a row. One delivery at a time is sent as a probe; the first success sends the rest.",
    };
  }
  if (endpoint.quiet_until) {
    return {
      word: "medium",
      label: "quiet",
      about: "The receiver asked for a pause. Sending goes on by itself.",
    };
  }
  if (endpoint.failing) {
    return {
      word: "error",
      label: "failing",
      about: "The last attempts failed. Each delivery is tried again.",
    };
  }
  return { word: "ok", label: "healthy", about: "No attempt failed lately." };
}

export const NOTICES: Record<string, string> = {
  breaker_opened: "Failed too often: only probes are sent",
  breaker_closed: "Answers again: everything is sent",
  failing_15_minutes: "Has failed for 15 minutes",
  failing_1_hour: "Has failed for an hour",
  failing_1_day: "Has failed for a day",
  rejecting: "Refuses deliveries",
  redirecting: "Redirects deliveries, which is never followed",
  disabled: "Was disabled",
  paused: "Was paused",
  resumed: "Was resumed",
  unverified: "Did not answer its challenge: nothing is sent",
  verified: "Answered its challenge",
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

/** Such as `97.5 %`, of those that ended; nothing if none did. */
export function rateOf({ delivered, failed }: Tally): string | undefined {
  const ended = delivered + failed;
  return ended === 0 ? undefined : `${((delivered / ended) * 100).toFixed(1).replace(/\.0$/, "")} %`;
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
