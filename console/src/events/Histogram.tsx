// Events by result over the whole time range. Dragging selects a part of it.
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

function chartOf({ histogram, fields, complete, counted_from }: Counts) {
  const { buckets } = histogram;
  const found = fields.result.filter((one) => one.count > 0);
  const results = found.slice(0, RESULTS_MAX).map((one) => one.value);
  const series = results.map((result) => ({
    name: result,
    color: inkOf(result),
    values: buckets.map((bucket) => bucket.counts[result] ?? 0),
  }));
  const others = buckets.map(
    (bucket) => bucket.total - results.reduce((sum, result) => sum + (bucket.counts[result] ?? 0), 0),
  );
  if (others.some((count) => count > 0)) series.push({ name: "other", color: inkOf(""), values: others });
  const at = buckets.map((bucket) => Date.parse(bucket.at));
  return { at, series, uncountedBefore: complete || !counted_from ? undefined : Date.parse(counted_from) };
}
