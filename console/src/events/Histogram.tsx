// Events over time by result. Dragging selects a time range.
import { Skeleton } from "@mantine/core";
import { useMemo } from "react";
import { Chart, inkOf } from "../parts/Chart";
import type { Counts } from "./facets";

/** So many results have a color of their own in it; the rest is told together. */
const RESULTS_MAX = 6;

interface HistogramProps {
  counts: Counts | undefined;
  onChoose: (from: Date, to: Date) => void;
}

export function Histogram({ counts, onChoose }: HistogramProps) {
  const chart = useMemo(() => (counts === undefined ? undefined : chartOf(counts)), [counts]);
  if (chart === undefined) return <Skeleton height={110} />;
  return <Chart label="Events over time by result" kind="bars" height={110} {...chart} onChoose={onChoose} />;
}

function chartOf({ histogram, fields }: Counts) {
  const { buckets } = histogram;
  const results = fields.result.slice(0, RESULTS_MAX).map((one) => one.value);
  const series = results.map((result) => ({
    name: result,
    color: inkOf(result),
    values: buckets.map((bucket) => bucket.counts[result] ?? 0),
  }));
  const others = buckets.map(
    (bucket) => bucket.total - results.reduce((sum, result) => sum + (bucket.counts[result] ?? 0), 0),
  );
  if (others.some((count) => count > 0)) series.push({ name: "other", color: inkOf(""), values: others });
  return { at: buckets.map((bucket) => Date.parse(bucket.at)), series };
}
