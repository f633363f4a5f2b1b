// Watching events as they are accepted.
import { pauseMs, sleep } from "./again.js";
import type { Connection } from "./connection.js";
import { noAnswer, refusal, WatchbellError } from "./error.js";
import type { Event } from "./events.js";
import type { paths } from "./schema.js";
import { messages } from "./sse.js";

type StreamQuery = NonNullable<paths["/v1/audit/events/stream"]["get"]["parameters"]["query"]>;

export type TailFilter = StreamQuery & {
  /** Ends the tail. */
  signal?: AbortSignal;
  /** From now on every matching event that is accepted is seen. Called again whenever the connection is new. */
  onReady?: () => void;
  /**
   * Events were left out here: as many as were skipped because they are read too slowly, or an unknown number because
   * the connection was lost. The list has them.
   */
  onGap?: (skipped: number | undefined) => void;
};

/** The server sends something every 15 s; without anything for this long the connection is dead. */
const SILENCE_MS_MAX = 45_000;

/** Matching events as they are accepted, until the signal or the loop ends. Connects anew when the connection is lost. */
export async function* tailEvents(
  connection: Connection,
  { signal, onReady, onGap, ...query }: TailFilter = {},
): AsyncGenerator<Event, void, undefined> {
  const ended = new AbortController();
  const either = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
  let failures = 0;
  let wasReady = false;
  try {
    while (!either.aborted) {
      try {
        for await (const { event, data } of stream(connection, query, either)) {
          if (event === "event") yield JSON.parse(data);
          if (event === "skipped") onGap?.(JSON.parse(data).skipped);
          if (event === "ready") {
            if (wasReady) onGap?.(undefined);
            wasReady = true;
            failures = 0;
            onReady?.();
          }
        }
        throw new WatchbellError("the stream ended", { code: "NO_ANSWER" });
      } catch (cause) {
        if (either.aborted) return;
        const error = noAnswer(cause);
        if (!error.isTransient) throw error;
        failures += 1;
        await sleep(pauseMs(error, failures), either).catch(() => {});
      }
    }
  } finally {
    ended.abort();
  }
}

async function* stream({ api }: Connection, query: StreamQuery, signal: AbortSignal) {
  const silent = new AbortController();
  const listen = () =>
    setTimeout(() => silent.abort(new TypeError("nothing was heard for 45 s")), SILENCE_MS_MAX);
  let timer = listen();
  try {
    const { data, error, response } = await api.GET("/v1/audit/events/stream", {
      params: { query },
      parseAs: "stream",
      signal: AbortSignal.any([signal, silent.signal]),
    });
    if (!response.ok || !data) throw refusal(response, error);
    yield* messages(data, () => {
      clearTimeout(timer);
      timer = listen();
    });
  } finally {
    clearTimeout(timer);
  }
}
