// Relative and absolute times, in the time zone that the user chose.
import { useSyncExternalStore } from "react";
import { kept } from "./kept";

export type Zone = "local" | "utc";

/** One for all times on the screen, because long lists are full of them. */
const zone = kept<Zone>("watchbell.zone", ["local", "utc"]);
export const useZone = zone.use;

/** Such as `UTC` or `local time (GMT+1)`; summer and winter may have other names. */
export function zoneName(zone: Zone, at: Date): string {
  if (zone === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at);
  return `local time (${parts.find(({ type }) => type === "timeZoneName")?.value ?? "unknown"})`;
}

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** Such as `3 min. ago` or `in 2 hr.` */
export function relative(at: Date, now: Date): string {
  let amount = (at.getTime() - now.getTime()) / 1_000;
  if (Math.abs(amount) < 1) return "now";
  for (const [many, unit] of STEPS) {
    if (Math.abs(amount) < many) return words.format(Math.trunc(amount), unit);
    amount /= many;
  }
  return words.format(Math.trunc(amount), "year");
}

/** Such as `2026-11-15 21:43:10.125`, which sorts and can be compared by eye. */
export function absolute(at: Date, zone: Zone): string {
  const shifted = zone === "utc" ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  const text = shifted.toISOString().replace("T", " ").replace("Z", "");
  return zone === "utc" ? `${text} UTC` : text;
}

/** As the browser's picker has it, which knows no zones: such as `2026-11-15T21:43`. */
export function toPicker(at: Date, zone: Zone): string {
  return absolute(at, zone).replace(" ", "T").slice(0, 16);
}

/** What was picked, in the zone that it is meant in. */
export function fromPicker(text: string, zone: Zone): Date {
  return new Date(zone === "utc" ? `${text}Z` : text);
}

/** Such as `1.2 s` or `34 ms`. */
export function duration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(1)} h`;
  return `${(ms / 86_400_000).toFixed(1)} d`;
}

// One clock for all times on the screen: it ticks while somebody looks.
let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  // It stood still while nobody looked.
  if (timer === undefined) now = new Date();
  timer ??= setInterval(() => {
    now = new Date();
    for (const one of watchers) one();
  }, 1_000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export function useNow(): Date {
  return useSyncExternalStore(watch, () => now);
}
