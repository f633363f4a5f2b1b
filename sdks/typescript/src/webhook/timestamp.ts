// Reading when a delivery was signed, and how far from now that may be.
import { Refused } from "./refused.js";

/** In either direction; exactly this far is accepted. */
const REPLAY_WINDOW_NS = 300_000_000_000n;

const NS_PER_MS = 1_000_000n;
const NS_PER_S = 1_000_000_000n;

/** What every language's parser reads alike. An offset may be up to 23:59. */
const RFC_3339 =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])((?:[01]\d|2[0-3])):([0-5]\d))$/;

/** Whole seconds below 2^63, in their one spelling. */
const UNIX_SECONDS = /^(?:0|[1-9]\d{0,18})$/;
const UNIX_SECONDS_MAX = 2n ** 63n - 1n;

export function checkWindow(signedAtNs: bigint, now: Date | number): void {
  const aheadNs = signedAtNs - BigInt(Math.floor(Number(now))) * NS_PER_MS;
  if (aheadNs > REPLAY_WINDOW_NS || aheadNs < -REPLAY_WINDOW_NS)
    throw new Refused("timestamp_outside_window");
}

/** Reads a date-time such as `2026-01-15T12:00:00.000Z`, in nanoseconds since 1970. */
export function parseRfc3339(text: string): bigint {
  const [, local, fraction = "", sign = "+", hours = "0", minutes = "0"] = RFC_3339.exec(text) ?? [];
  const ms = local === undefined ? Number.NaN : Date.parse(`${local}Z`);
  // A date that does not exist is read as the day after the month's last, and so is 24 o'clock.
  if (local === undefined || Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(local)) {
    throw new Refused("timestamp_unparseable");
  }
  const offsetS = BigInt(Number(hours) * 3600 + Number(minutes) * 60);
  const utcNs = BigInt(ms) * NS_PER_MS + BigInt(fraction.padEnd(9, "0"));
  return sign === "+" ? utcNs - offsetS * NS_PER_S : utcNs + offsetS * NS_PER_S;
}

/** Reads whole seconds since 1970, as Standard Webhooks writes them, in nanoseconds. */
export function parseUnixSeconds(text: string): bigint {
  if (!UNIX_SECONDS.test(text) || BigInt(text) > UNIX_SECONDS_MAX) throw new Refused("timestamp_unparseable");
  return BigInt(text) * NS_PER_S;
}
