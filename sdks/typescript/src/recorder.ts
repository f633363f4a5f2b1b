// Records events in the background: bounded, in batches, and each of them once.
import { pauseMs, sleep, sleepIdly } from "./again.js";
import type { Connection, Schemas } from "./connection.js";
import { type Fault, noAnswer, WatchbellError } from "./error.js";
import { type Ingested, type NewEvent, post } from "./events.js";

/** An event that was not accepted: its place in the batch, and what is wrong with it. */
export type Rejected = Schemas["Rejected"];

export interface RecorderOptions {
  /** How many events wait at most (10,000); more are dropped and counted. */
  queueEventsMax?: number;
  /** How many bytes wait at most (16 MiB), for when events are large. */
  queueBytesMax?: number;
  /** How many events go into a request at most (500; the server takes 1,000). */
  batchEventsMax?: number;
  /** How long an event waits for others to share a request with, in milliseconds (200). */
  lingerMs?: number;
  /** An event that the server did not accept, and what is wrong with it. */
  onRejected?: (event: NewEvent, fault: Rejected) => void;
  /** A request that failed. If the error is not transient its events are dropped, otherwise sent again. */
  onError?: (error: WatchbellError) => void;
}

/** `recorded` is the sum of the others. */
export interface RecorderCounts {
  recorded: number;
  /** Waiting, or on their way. */
  queued: number;
  /** Durable. */
  sent: number;
  /** Not accepted by the server. */
  rejected: number;
  /** Given up: not JSON, the queue was full, a request was refused as a whole, or the recorder was closed. */
  dropped: number;
}

/** Less than the server's 5 MiB. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;

const DEFAULTS = {
  queueEventsMax: 10_000,
  queueBytesMax: 16 * 1024 * 1024,
  batchEventsMax: 500,
  lingerMs: 200,
};

interface Queued {
  text: string;
  bytes: number;
}

export class Recorder {
  readonly #connection: Connection;
  readonly #options: RecorderOptions & typeof DEFAULTS;
  /** In the order recorded. Events leave it when they are settled, not when they are sent. */
  readonly #queue: Queued[] = [];
  #queuedBytes = 0;
  readonly #counts = { sent: 0, rejected: 0, dropped: 0 };
  /** How many events were ever queued, and how many of them are settled. */
  #taken = 0;
  #settled = 0;
  #waiting: { until: number; done: () => void }[] = [];
  #isSending = false;
  #isClosed = false;
  #sendNow: () => void = () => {};
  readonly #ended = new AbortController();

  constructor(connection: Connection, options: RecorderOptions = {}) {
    this.#connection = connection;
    this.#options = { ...DEFAULTS, ...options };
  }

  get counts(): RecorderCounts {
    const { sent, rejected, dropped } = this.#counts;
    const queued = this.#queue.length;
    return { recorded: queued + sent + rejected + dropped, queued, sent, rejected, dropped };
  }

  /**
   * Takes an event and returns at once: whether it was taken. It never throws.
   *
   * It gets the time and an id here, unless it has them, so that sending it again is harmless.
   */
  record(event: NewEvent): boolean {
    const text = written(event);
    const bytes = new TextEncoder().encode(text).length;
    const { queueEventsMax, queueBytesMax, batchEventsMax } = this.#options;
    const isFull = this.#queue.length >= queueEventsMax || this.#queuedBytes + bytes > queueBytesMax;
    if (text === undefined || isFull || this.#isClosed || bytes > BATCH_BYTES_MAX) {
      this.#counts.dropped += 1;
      return false;
    }
    this.#queue.push({ text, bytes });
    this.#queuedBytes += bytes;
    this.#taken += 1;
    if (!this.#isSending) void this.#send();
    if (this.#queue.length >= batchEventsMax) this.#sendNow();
    return true;
  }

  /** Waits until what was recorded so far is settled, for so long at most (30,000 ms): whether it is. */
  async flush({ timeoutMs = 30_000 }: { timeoutMs?: number } = {}): Promise<boolean> {
    const until = this.#taken;
    this.#sendNow();
    if (this.#settled < until) {
      const late = new AbortController();
      const settled = new Promise<void>((done) => this.#waiting.push({ until, done }));
      await Promise.race([settled, sleep(timeoutMs, late.signal).catch(() => {})]);
      late.abort();
    }
    return this.#settled >= until;
  }

  /** Takes no more, and waits as `flush` does. What is not settled by then is dropped. */
  async close(options: { timeoutMs?: number } = {}): Promise<boolean> {
    this.#isClosed = true;
    const isSettled = await this.flush(options);
    this.#ended.abort();
    this.#counts.dropped += this.#queue.length;
    this.#settle(this.#queue.length);
    return isSettled;
  }

  /** Sends until there is nothing left. One request at a time: what comes meanwhile shares the next. */
  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      await this.#linger();
      for (let failures = 0; this.#queue.length > 0; ) {
        const error = await this.#sendBatch();
        failures = error ? failures + 1 : 0;
        // A process that has nothing else to do does not wait for a server that is away.
        if (error) await sleepIdly(pauseMs(error, failures), this.#ended.signal).catch(() => {});
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Sends as many as fit into a request. Returns the error, if they are to be sent again. */
  async #sendBatch(): Promise<WatchbellError | undefined> {
    const batch = this.#nextBatch();
    const body = `{"events":[${batch.map(({ text }) => text).join(",")}]}`;
    try {
      const posted = post(this.#connection, body, { signal: this.#ended.signal });
      const { ingested, rejected } = await posted.catch(noneAccepted);
      if (this.#ended.signal.aborted) return undefined;
      this.#counts.sent += ingested;
      this.#counts.rejected += rejected.length;
      this.#settle(batch.length);
      for (const fault of rejected) {
        const queued = batch[fault.index];
        if (queued) void tell(() => this.#options.onRejected?.(JSON.parse(queued.text), fault));
      }
    } catch (cause) {
      if (this.#ended.signal.aborted) return undefined;
      const error = noAnswer(cause);
      if (!error.isTransient) {
        this.#counts.dropped += batch.length;
        this.#settle(batch.length);
      }
      void tell(() => this.#options.onError?.(error));
      return error.isTransient ? error : undefined;
    }
    return undefined;
  }

  #nextBatch(): Queued[] {
    let bytes = 0;
    const first = this.#queue.slice(0, this.#options.batchEventsMax);
    const tooMany = first.findIndex((queued) => {
      bytes += queued.bytes + 1;
      return bytes > BATCH_BYTES_MAX;
    });
    return tooMany < 1 ? first : first.slice(0, tooMany);
  }

  #settle(count: number): void {
    for (const { bytes } of this.#queue.splice(0, count)) this.#queuedBytes -= bytes;
    this.#settled += count;
    for (const { until, done } of this.#waiting) if (until <= this.#settled) done();
    this.#waiting = this.#waiting.filter(({ until }) => until > this.#settled);
  }

  /** Gives an event some time to be joined by others, until there are enough or somebody flushes. */
  #linger(): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, this.#options.lingerMs);
      this.#sendNow = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}

/** The event as it is sent; nothing if it cannot be written as JSON. */
function written(event: NewEvent): string | undefined {
  try {
    const occurred_at = event.occurred_at ?? new Date().toISOString();
    const client_event_id = event.client_event_id ?? crypto.randomUUID();
    return JSON.stringify({ ...event, occurred_at, client_event_id });
  } catch {
    return undefined;
  }
}

/** That every event of a batch is bad is an answer too. */
function noneAccepted(error: unknown): Ingested {
  const faults = error instanceof WatchbellError && error.status === 422 ? error.errors : [];
  const rejected = faults.flatMap(placed);
  if (rejected.length === 0 || rejected.length < faults.length) throw error;
  return { ingested: 0, events: [], rejected };
}

/** The event that a fault of the request points at (`/events/3/action`), if it does, and where in it. */
function placed(fault: Fault): Rejected[] {
  const [, index, pointer] = /^\/events\/(\d+)(.*)$/s.exec(fault.pointer) ?? [];
  return index === undefined || pointer === undefined ? [] : [{ ...fault, index: Number(index), pointer }];
}

/** Calls a callback. If it fails, that is neither a reason to stop recording nor to end the agent's process. */
async function tell(callback: () => unknown): Promise<void> {
  try {
    await callback();
  } catch (error) {
    console.error("watchbell: a callback of the recorder failed:", error);
  }
}
