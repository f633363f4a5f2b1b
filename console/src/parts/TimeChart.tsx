// Counts and measurements over time. Drag to select a range.
import { Box, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { absolute, useZone, type Zone } from "./clock";
import classes from "./TimeChart.module.css";

export interface Series {
  name: string;
  /** A CSS color for each scheme. */
  color: { light: string; dark: string };
  values: (number | null)[];
}

export interface TimeChartProps {
  /** What it shows, in words, for those who do not see it. */
  label: string;
  /** The start of each interval, in milliseconds, oldest first. */
  at: number[];
  series: Series[];
  /** `bars` are stacked upon each other, in the order of the series. */
  kind: "bars" | "lines";
  height?: number;
  format?: (value: number) => string;
  /** What is before this moment, in milliseconds, was not counted, and is gray. */
  uncountedBefore?: number;
  /** Called with the part that was chosen. */
  onChoose?: (from: Date, to: Date) => void;
}

export default function TimeChart(props: TimeChartProps) {
  const { label, at, series, kind, height = 160 } = props;
  const scheme = useComputedColorScheme("light");
  const [zone] = useZone();
  const { ref: frame, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  // The chart is made anew for other data, and not because somebody drew the same once more.
  const data = JSON.stringify([at, series, kind, props.uncountedBefore]);
  const latest = useRef(props);
  latest.current = props;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `data` stands for what is read of the latest.
  useEffect(() => {
    if (place.current === null || width === 0) return;
    const { at, series, kind } = latest.current;
    const choose = (from: Date, to: Date) => latest.current.onChoose?.(from, to);
    const chart = new uPlot(
      options({
        ...latest.current,
        onChoose: latest.current.onChoose && choose,
        height,
        width,
        scheme,
        zone,
      }),
      [at.map((ms) => ms / 1_000), ...stacked(series, kind)],
      place.current,
    );
    chart.root.setAttribute("aria-hidden", "true");
    return () => chart.destroy();
  }, [data, height, width, scheme, zone]);

  if (at.length === 0) {
    return (
      <div className={classes.nothing} style={{ height }} role="img" aria-label={`${label}: no data`}>
        No data in this time range
      </div>
    );
  }
  const totals = series.map((one) => `${one.name} ${sum(one.values)}`);
  const counted = kind === "bars" ? `${label}: ${totals.join(", ")}` : label;
  const description =
    props.uncountedBefore === undefined ? counted : `${counted}; the oldest part was not counted`;
  return (
    <>
      <Box ref={frame} role="img" aria-label={description} className={classes.frame} mih={height}>
        <div ref={place} />
      </Box>
      {series.length > 1 && (
        <div className={classes.legend} aria-hidden>
          {series.map((one) => (
            <span key={one.name}>
              <span className={classes.dot} style={{ background: one.color[scheme] }} />
              {one.name}
            </span>
          ))}
        </div>
      )}
    </>
  );
}

function sum(values: (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/** Bars are drawn from the top of the stack down, so each series carries what lies below it. */
function stacked(series: Series[], kind: "bars" | "lines"): (number | null)[][] {
  if (kind === "lines") return series.map((one) => one.values);
  const below: number[] = [];
  const layers = series.map((one) =>
    one.values.map((value, place) => {
      below[place] = (below[place] ?? 0) + (value ?? 0);
      return below[place];
    }),
  );
  return layers.reverse();
}

interface Look extends TimeChartProps {
  width: number;
  height: number;
  scheme: "light" | "dark";
  zone: Zone;
}

/** How long one interval is; a single one has no neighbor to tell. */
function stepOf(at: number[]): number {
  const [first, second] = at;
  return first === undefined || second === undefined ? 60_000 : second - first;
}

function options(look: Look): uPlot.Options {
  const { at, series, kind, scheme, width, height, format = compact } = look;
  const ink = scheme === "dark" ? "#a4abba" : "#5a6272";
  const grid = { stroke: scheme === "dark" ? "#2a2e38" : "#e8ebf0", width: 1 };
  const axis = { stroke: ink, grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const drawn = kind === "bars" ? [...series].reverse() : series;
  const isChoosable = look.onChoose !== undefined;
  return {
    width,
    height,
    tzDate: look.zone === "utc" ? (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC") : undefined,
    legend: { show: false },
    // The label of the last tick reaches beyond it.
    padding: [8, 28, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: isChoosable, y: false, setScale: false } },
    scales: {
      // A bar lies right of the start of its interval, so the last one needs room.
      x: { range: (_, from, to) => [from, kind === "bars" ? to + stepOf(at) / 1_000 : to] },
      y: { range: (_, __, most) => [0, Math.max((most ?? 0) * 1.08, kind === "bars" ? 1 : 0.001)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        space: TICK_PX,
        values: (_, ticks, __, ___, step) => onlyNew(ticks.map((tick) => clock(tick, step, look.zone))),
      },
      { ...axis, size: 46, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...drawn.map((one) => ({
        label: one.name,
        stroke: one.color[scheme],
        fill: kind === "bars" ? one.color[scheme] : undefined,
        width: kind === "bars" ? 0 : 2,
        // A measure with nothing at either side of it is a dot.
        points: { show: kind === "lines", size: 4, fill: one.color[scheme] },
        paths: kind === "bars" ? uPlot.paths.bars?.({ size: [0.8, 40], align: 1 }) : undefined,
      })),
    ],
    plugins: [tip(look, format)],
    hooks: {
      drawClear: [(chart) => shade(chart, look)],
      setSelect: [
        (chart) => {
          const { left, width: wide } = chart.select;
          if (wide < 4 || look.onChoose === undefined) return;
          const moment = (x: number) => new Date(chart.posToVal(x, "x") * 1_000);
          look.onChoose(moment(left), moment(left + wide));
        },
      ],
    },
  };
}

/** Grays out what was not counted. */
function shade(chart: uPlot, { uncountedBefore, scheme }: Look): void {
  if (uncountedBefore === undefined) return;
  const { left, top, width, height } = chart.bbox;
  const end = chart.valToPos(uncountedBefore / 1_000, "x", true);
  chart.ctx.save();
  chart.ctx.fillStyle = scheme === "dark" ? "rgb(255 255 255 / 8%)" : "rgb(0 0 0 / 7%)";
  chart.ctx.fillRect(left, top, Math.min(Math.max(end - left, 0), width), height);
  chart.ctx.restore();
}

/** How far ticks are apart at least: a time to the second, and some air. */
const TICK_PX = 72;

/** Ticks within the same second say it once. */
function onlyNew(labels: string[]): string[] {
  return labels.map((label, place) => (label === labels[place - 1] ? "" : label));
}

/** What an axis says of a moment, as exactly as its steps are. */
function clock(seconds: number, step: number, zone: Zone): string {
  const text = absolute(new Date(seconds * 1_000), zone);
  const [date, time] = [text.slice(5, 10), text.slice(11, 19)];
  if (step >= 86_400 || time === "00:00:00") return date;
  return step >= 60 ? time.slice(0, 5) : time;
}

/** What is under the pointer, in numbers, beside it. */
function tip(look: Look, format: (value: number) => string): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = classes.tip ?? "";
  box.hidden = true;
  const write = (place: number) => {
    const start = absolute(new Date(look.at[place] ?? 0), look.zone);
    const lines = look.series
      .filter((one) => one.values[place] !== null && one.values[place] !== undefined)
      .filter((one) => look.series.length < 4 || one.values[place] !== 0)
      .map((one) => `${one.name} ${format(one.values[place] ?? 0)}`);
    const isCounted = look.uncountedBefore === undefined || (look.at[place] ?? 0) >= look.uncountedBefore;
    const numbers = lines.length === 0 ? ["no data"] : lines;
    const texts = [start.slice(0, 19), ...(isCounted ? numbers : ["not counted"])];
    box.replaceChildren(
      ...texts.map((text) => {
        const line = document.createElement("div");
        line.textContent = text;
        return line;
      }),
    );
  };
  return {
    hooks: {
      init: (chart) => void chart.over.append(box),
      setCursor: (chart) => {
        const x = chart.cursor.left ?? -1;
        const bar = Math.floor((chart.posToVal(x, "x") * 1_000 - (look.at[0] ?? 0)) / stepOf(look.at));
        const place =
          look.kind === "bars" ? Math.min(Math.max(bar, 0), look.at.length - 1) : chart.cursor.idx;
        box.hidden = x < 0 || place === null || place === undefined;
        if (box.hidden) return;
        write(place as number);
        const isRight = x > chart.over.clientWidth / 2;
        box.style.left = isRight ? "auto" : `${x + 12}px`;
        box.style.right = isRight ? `${chart.over.clientWidth - x + 12}px` : "auto";
      },
    },
  };
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

function compact(value: number): string {
  return short.format(value);
}
