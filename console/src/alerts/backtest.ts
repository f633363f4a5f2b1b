// Reads a backtest as it streams in: progress line by line, then the result.
import type { Body } from "../api/client";
import { problemOf } from "../api/problem";
import type { Draft } from "./draft";

export type Progress = Body<"BacktestProgress">;
export type Result = Body<"BacktestResult">;

/** Reads the lines of a body as they come. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const lines = rest.split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) if (line.trim() !== "") yield line;
    if (done) return;
  }
}

/** Tries a rule on a part of the trail. An answer that ends early is an error. */
export async function backtest(
  rule: Draft,
  from: Date,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Result> {
  const response = await fetch("/v1/alert-rules/backtest", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ rule, from: from.toISOString() }),
    signal,
  });
  if (!response.ok || response.body === null) throw await problemOf(response);
  for await (const line of linesOf(response.body)) {
    const told: Progress | Result = JSON.parse(line);
    if ("done" in told) return told;
    onProgress(told);
  }
  throw new Error("The response was cut off. Try again.");
}

/** Every day (UTC) from the first to today, also those on which nothing matched. */
export function daysOf(
  result: Result,
  from: Date,
  now: Date,
): { at: number; matched: number; alerts: number }[] {
  const DAY_MS = 86_400_000;
  const counts = new Map(result.by_day.map((day) => [day.day, day]));
  const days = [];
  for (let at = Math.floor(from.getTime() / DAY_MS) * DAY_MS; at <= now.getTime(); at += DAY_MS) {
    const day = counts.get(new Date(at).toISOString().slice(0, 10));
    days.push({ at, matched: day?.matched ?? 0, alerts: day?.alerts ?? 0 });
  }
  return days;
}
