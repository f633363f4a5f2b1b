// The time range of a screen: relative or fixed. It is kept in the address.
import { Button, Group, SegmentedControl } from "@mantine/core";
import { IconCalendar } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { absolute, useZone, type Zone } from "./clock";
import { ZoneSwitch } from "./ZoneSwitch";

/** Few choose times of their own, so it comes when somebody does. */
const FixedRange = lazy(() => import("./FixedRange"));

export interface Range {
  /** The last so long, such as `24h`; it goes on with time. */
  last?: string;
  /** Fixed times instead, RFC 3339. */
  from?: string;
  to?: string;
}

const SPANS: Record<string, number> = {
  "15m": 15 * 60_000,
  "1h": 3_600_000,
  "6h": 6 * 3_600_000,
  "24h": 86_400_000,
  "7d": 7 * 86_400_000,
  "30d": 30 * 86_400_000,
};

/** Whether it is a time. An address may say anything. */
function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}

/** The last so long that a range means, if it is known. */
function lastOf(range: Range, usual: string): string {
  return range.last !== undefined && Object.hasOwn(SPANS, range.last) ? range.last : usual;
}

/** The times of a range, now. `to` is open while it goes on with time. What is no time is left out. */
export function timesOf(range: Range, usual = "24h"): { from: string; to: string | undefined } {
  if (isTime(range.from)) return { from: range.from, to: isTime(range.to) ? range.to : undefined };
  const span = SPANS[lastOf(range, usual)] ?? 0;
  return { from: new Date(Date.now() - span).toISOString(), to: undefined };
}

/** The interval that makes a readable chart of a range. */
export function intervalOf(range: Range, usual = "24h"): "minute" | "hour" | "day" {
  const { from, to } = timesOf(range, usual);
  const span = (to ? Date.parse(to) : Date.now()) - Date.parse(from);
  if (span <= 6 * 3_600_000) return "minute";
  return span <= 8 * 86_400_000 ? "hour" : "day";
}

/** The address that shows the same time whenever it is opened. */
export function fixedAddress(address: string, times: { from: string; to?: string }, now: Date): string {
  const url = new URL(address);
  for (const name of ["last", "live"]) url.searchParams.delete(name);
  url.searchParams.set("from", times.from);
  url.searchParams.set("to", times.to ?? now.toISOString());
  return url.href;
}

/** The start of the day of a time, so many days later, in the zone that people read times in. */
function dayOf(at: Date, zone: Zone, later: number): Date {
  const day = new Date(at);
  if (zone === "utc") {
    day.setUTCHours(0, 0, 0, 0);
    day.setUTCDate(day.getUTCDate() + later);
  } else {
    day.setHours(0, 0, 0, 0);
    day.setDate(day.getDate() + later);
  }
  return day;
}

/** Days that people look for by name. A week begins on Monday (ISO 8601). */
export function namedRanges(now: Date, zone: Zone) {
  const today = dayOf(now, zone, 0);
  const weekday = ((zone === "utc" ? today.getUTCDay() : today.getDay()) + 6) % 7;
  return {
    Today: { from: today.toISOString() },
    Yesterday: { from: dayOf(now, zone, -1).toISOString(), to: today.toISOString() },
    "This week": { from: dayOf(now, zone, -weekday).toISOString() },
  } satisfies Record<string, Range>;
}

interface TimeRangeProps {
  range: Range;
  usual?: string;
  onChange: (range: Range) => void;
}

export function TimeRange({ range, usual = "24h", onChange }: TimeRangeProps) {
  const [zone] = useZone();
  const fixed = isTime(range.from);
  const times = timesOf(range, usual);
  const data = [
    ...Object.keys(SPANS).map((span) => ({ value: span, label: span })),
    { value: "fixed", label: "Custom" },
  ];
  const [open, setOpen] = useState(false);
  return (
    <Group gap="xs">
      <SegmentedControl
        size="xs"
        aria-label="Time range"
        data={data}
        value={fixed ? "fixed" : lastOf(range, usual)}
        onChange={(value) => (value === "fixed" ? setOpen(true) : onChange({ last: value }))}
      />
      <ZoneSwitch />
      <Suspense>
        {open && (
          <FixedRange
            times={times}
            onClose={() => setOpen(false)}
            onChange={(next) => {
              setOpen(false);
              onChange(next);
            }}
          />
        )}
      </Suspense>
      {fixed && (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconCalendar size={14} />}
          onClick={() => setOpen(true)}
        >
          {absolute(new Date(times.from), zone).slice(0, 16)} –{" "}
          {times.to ? absolute(new Date(times.to), zone).slice(0, 16) : "now"}
        </Button>
      )}
    </Group>
  );
}
