// Asking again: when, how often, and waiting for it.
import { WatchbellError } from "./error.js";

/** How often something is asked in all before its error is thrown. */
const ATTEMPTS_MAX = 5;

/** Who is told to wait for longer than this is told so, instead of waiting. */
const WAIT_MS_MAX = 60_000;

/** However long the server says to wait, it is asked again after this: a date far away is of a proxy, or a mistake. */
const RETRY_AFTER_MS_MAX = 5 * 60_000;

const BACKOFF_MS_MIN = 250;
const BACKOFF_MS_MAX = 10_000;

/** Asks until there is an answer, as long as the error may pass. Only for what can be asked twice. */
export async function persist<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof WatchbellError) || !error.isTransient || failures === ATTEMPTS_MAX) throw error;
      const waitMs = pauseMs(error, failures);
      if (waitMs > WAIT_MS_MAX) throw error;
      await sleep(waitMs, signal);
    }
  }
}

/** How long to wait after so many failures: as long as the server says, within reason, or twice as long each time. */
export function pauseMs({ retryAfter }: WatchbellError, failures: number): number {
  if (retryAfter !== undefined) return Math.min(RETRY_AFTER_MS_MAX, retryAfter * 1000);
  const backoff = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(failures - 1, 10));
  // Of many clients that failed together not all should come back together.
  return backoff * (0.5 + Math.random() / 2);
}

/** Waits; rejects with the signal's reason if it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    after(ms, done, fail, signal);
  });
}

/** The same, and a process that has nothing else to do may end meanwhile. */
export function sleepIdly(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const timer: { unref?: () => void } | number | undefined = after(ms, done, fail, signal);
    // Node's timers are objects.
    if (typeof timer === "object") timer.unref?.();
  });
}

function after(ms: number, done: () => void, fail: (reason: unknown) => void, signal?: AbortSignal) {
  if (signal?.aborted) return void fail(signal.reason);
  const stop = () => {
    clearTimeout(timer);
    fail(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", stop);
    done();
  }, ms);
  signal?.addEventListener("abort", stop, { once: true });
  return timer;
}
