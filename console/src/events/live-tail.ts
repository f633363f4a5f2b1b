// Listens to the event stream and updates the tail at most four times a second.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { type LiveState, useLive } from "../api/live";
import { type Filter, streamPath } from "./filter";
import { newest } from "./list";
import type { AuditEvent } from "./row";
import { drawn, founded, NO_TAIL, resumed, TAIL_ROWS_MAX, type Tail, type TailRow, tailRowOf } from "./tail";

const DRAW_EVERY_MS = 250;
/** Scrolled further than this, somebody reads; nothing may move under their eyes. */
const TOP_PX = 8;

export interface LiveTail extends Tail {
  state: LiveState;
  isPaused: boolean;
  pause: () => void;
  resume: () => void;
  /** What went wrong with the list below the stream. */
  error: unknown;
}

/** The live tail of a filter, while `isOn`. `frame` is what scrolls. */
export function useTail(filter: Filter, isOn: boolean, frame: RefObject<HTMLDivElement | null>): LiveTail {
  const [tail, setTail] = useState(NO_TAIL);
  const [isPaused, setPaused] = useState(false);
  const [error, setError] = useState<unknown>();
  const batch = useRef<TailRow[]>([]);
  const path = isOn ? streamPath(filter) : null;

  // Another filter is another tail.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is the reason, not a value that is read.
  useEffect(() => {
    batch.current = [];
    setTail(NO_TAIL);
    setPaused(false);
    setError(undefined);
  }, [path]);

  const state = useLive(path, {
    // What was accepted before is in the list, what comes after will be told: nothing falls between.
    ready: () =>
      newest(filter).then((events) => {
        setError(undefined);
        setTail((before) => founded(before, events.map(tailRowOf)));
      }, setError),
    event: (event) => {
      batch.current.push(tailRowOf(event as AuditEvent));
      // A tab that nobody sees draws seldom: what would not be shown is only counted.
      if (batch.current.length < 2 * TAIL_ROWS_MAX) return;
      const left = batch.current.length - TAIL_ROWS_MAX;
      batch.current = batch.current.slice(left);
      setTail((before) => ({ ...before, skipped: before.skipped + left }));
    },
    skipped: (told) => {
      const { skipped } = told as { skipped: number };
      setTail((before) => ({ ...before, skipped: before.skipped + skipped }));
    },
  });

  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => {
      if (batch.current.length === 0) return;
      const arrived = batch.current;
      batch.current = [];
      setTail((before) => drawn(before, arrived, isPaused));
    }, DRAW_EVERY_MS);
    return () => clearInterval(timer);
  }, [isOn, isPaused]);

  const pause = useCallback(() => setPaused(true), []);
  const resume = useCallback(() => {
    setPaused(false);
    setTail(resumed);
    frame.current?.scrollTo({ top: 0 });
  }, [frame]);
  usePauseOnScroll(isOn, frame, pause);
  return { ...tail, state, isPaused, pause, resume, error };
}

function usePauseOnScroll(isOn: boolean, frame: RefObject<HTMLDivElement | null>, pause: () => void): void {
  useEffect(() => {
    if (!isOn) return;
    const onScroll = (event: Event) => {
      if (event.target === frame.current && (frame.current?.scrollTop ?? 0) > TOP_PX) pause();
    };
    // Scrolling does not bubble; it is caught on its way down, whenever the list is there.
    document.addEventListener("scroll", onScroll, { capture: true, passive: true });
    return () => document.removeEventListener("scroll", onScroll, { capture: true });
  }, [isOn, frame, pause]);
}
