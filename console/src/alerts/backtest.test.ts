// What a backtest sends, read line by line.
import { expect, test } from "vitest";
import { daysOf, linesOf } from "./backtest";

async function read(chunks: string[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      for (const chunk of chunks) stream.enqueue(new TextEncoder().encode(chunk));
      stream.close();
    },
  });
  const lines = [];
  for await (const line of linesOf(body)) lines.push(line);
  return lines;
}

test("lines are read however they are cut on the way", async () => {
  expect(await read(['{"a":', "1}\n", '{"b":2}\n{"c"', ":3}"])).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']);
  expect(await read(["\n\n"])).toEqual([]);
});

test("days on which nothing matched are in the chart too", () => {
  const result = {
    done: true,
    scanned: 3,
    matched: 3,
    alerts: 2,
    suppressed: 0,
    by_day: [{ day: "2026-11-14", matched: 3, alerts: 2 }],
    samples: [],
    took_ms: 1,
    complete: true,
  };
  const days = daysOf(result, new Date("2026-11-13T22:00:00Z"), new Date("2026-11-15T01:00:00Z"));
  expect(days.map((day) => day.matched)).toEqual([0, 3, 0]);
  expect(new Date(days[1]?.at ?? 0).toISOString()).toBe("2026-11-14T00:00:00.000Z");
});
