// A chart whose code is loaded only when it is needed.
import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import type { TimeChartProps } from "./TimeChart";

const TimeChart = lazy(() => import("./TimeChart"));

/** Colors that can be told apart in both schemes, by what they mean. */
export const INK = {
  good: { light: "#2b9a72", dark: "#3fb68b" },
  fine: { light: "#7a9a12", dark: "#b4d455" },
  bad: { light: "#d6404a", dark: "#ef6b73" },
  warn: { light: "#d98a00", dark: "#f0b04a" },
  asked: { light: "#7a4fd0", dark: "#a583ee" },
  changed: { light: "#1587a8", dark: "#4fc0dd" },
  plain: { light: "#4866c5", dark: "#8c9fd9" },
  other: { light: "#9aa3b2", dark: "#6c7484" },
};

/** The color of a result or state. */
export function inkOf(word: string): (typeof INK)["good"] {
  switch (word) {
    case "success":
    case "delivered":
      return INK.good;
    case "allowed":
      return INK.fine;
    case "denied":
    case "failed":
      return INK.bad;
    case "error":
    case "pending":
      return INK.warn;
    case "escalated":
      return INK.asked;
    case "modified":
      return INK.changed;
    case "not_enforced":
      return INK.plain;
    default:
      return INK.other;
  }
}

export function Chart(props: TimeChartProps) {
  return (
    <Suspense fallback={<Skeleton height={(props.height ?? 160) + 24} />}>
      <TimeChart {...props} />
    </Suspense>
  );
}
