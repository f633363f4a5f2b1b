// Describes the health of an endpoint in words.
import type { Body } from "../api/client";
import { relative } from "../parts/clock";
import { counted } from "../parts/numbers";

type Endpoint = Body<"Endpoint">;

export interface Health {
  /** A word with a color. */
  word: string;
  label: string;
  about: string;
}

export function healthOf(endpoint: Endpoint, now: Date): Health {
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
      about: `The last attempts failed. Each delivery is retried. ${failuresInWords(endpoint, now)}`,
    };
  }
  const isUnstable = endpoint.recent_failures.last_hour > 0;
  return {
    word: isUnstable ? "medium" : "ok",
    label: isUnstable ? "unstable" : "healthy",
    about: failuresInWords(endpoint, now),
  };
}

/** Of an endpoint that the API does not list among those in trouble, by its newest deliveries. */
export function healthByDeliveries(
  deliveries: Pick<Body<"DeliveryBody">, "state" | "attempts">[],
): Pick<Health, "word" | "label"> {
  if (deliveries.some(({ state }) => state === "failed")) return { word: "medium", label: "failed lately" };
  // What is scheduled after an attempt waits for the next one, because that one failed.
  const isRetried = deliveries.some(
    ({ state, attempts }) => attempts > 1 || (attempts === 1 && state === "scheduled"),
  );
  if (isRetried) return { word: "medium", label: "retried lately" };
  const isTried = deliveries.some(({ attempts }) => attempts > 0);
  return isTried ? { word: "ok", label: "healthy" } : { word: "info", label: "not tried yet" };
}

/** Such as `3 attempts failed in the last hour, the last one 1 min. ago.` */
function failuresInWords({ recent_failures: failures }: Endpoint, now: Date): string {
  const { last_hour: hour, last_day: day, last_at: lastAt, complete } = failures;
  if (day === 0 || !lastAt) return "No attempts failed in the last 24 hours.";
  const [failed, time] = hour > 0 ? [hour, "hour"] : [day, "24 hours"];
  const many = complete || hour > 0 ? "" : "At least ";
  const last = failed === 1 ? "" : ", the last one";
  return `${many}${counted(failed, "attempt")} failed in the last ${time}${last} ${relative(new Date(lastAt), now)}.`;
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
  held: number;
  waiting: number;
}

/** Where deliveries stand. What a rule does not send says nothing about the endpoint. */
export function tallyOf(deliveries: Body<"DeliveryBody">[]): Tally {
  const count = (...states: string[]) => deliveries.filter(({ state }) => states.includes(state)).length;
  return {
    delivered: count("delivered"),
    failed: count("failed"),
    held: count("held"),
    waiting: count("pending", "scheduled"),
  };
}

/** Such as `97.5%`, of those that ended or are held; nothing if there are none. Never rounded up to all. */
export function rateOf({ delivered, failed, held }: Tally): string | undefined {
  const judged = delivered + failed + held;
  if (judged === 0) return undefined;
  return `${(Math.floor((delivered / judged) * 1_000) / 10).toFixed(1).replace(/\.0$/, "")}%`;
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
