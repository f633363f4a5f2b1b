// A server-sent event stream, with a state that a screen can show.
import { useEffect, useRef, useState } from "react";

export type LiveState = "connecting" | "open" | "lost";

/** How long to wait before a stream that was refused is asked for again. */
const AGAIN_AFTER_MS = 5_000;

/**
 * Listens to a server-sent stream while `path` is given. `on` maps the names of messages to what is done with
 * their data. What breaks is connected again, by the browser or, where that gives up, by us; the state says so.
 */
export function useLive(path: string | null, on: Record<string, (data: unknown) => void>): LiveState {
  const [state, setState] = useState<LiveState>("connecting");
  const handlers = useRef(on);
  handlers.current = on;
  const names = Object.keys(on).join(" ");
  useEffect(() => {
    if (path === null) return;
    setState("connecting");
    let source: EventSource;
    let again: ReturnType<typeof setTimeout> | undefined;
    const connect = () => {
      source = new EventSource(path);
      source.onopen = () => setState("open");
      source.onerror = () => {
        setState("lost");
        // A refusal, such as too many streams, ends it for the browser.
        if (source.readyState === EventSource.CLOSED) again = setTimeout(connect, AGAIN_AFTER_MS);
      };
      for (const name of names.split(" ")) {
        source.addEventListener(name, (message) => handlers.current[name]?.(JSON.parse(message.data)));
      }
    };
    connect();
    return () => {
      clearTimeout(again);
      source.close();
    };
  }, [path, names]);
  return state;
}
