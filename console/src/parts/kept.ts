// What somebody chose in this browser: kept there, and the same in all of its tabs.
import { useSyncExternalStore } from "react";

export interface Kept<Value extends string> {
  now: () => Value;
  use: () => [Value, (value: Value) => void];
}

/** One of these values, the first until somebody chooses. */
export function kept<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Kept<Value> {
  const watchers = new Set<() => void>();
  let value: Value | undefined;
  const now = () => {
    const stored = value ?? localStorage.getItem(name);
    // Former versions kept some of them in quotes.
    value = values.find((one) => stored === one || stored === `"${one}"`) ?? values[0];
    return value;
  };
  const change = (next: Value | undefined) => {
    value = next;
    for (const watcher of watchers) watcher();
  };
  const choose = (next: Value) => {
    localStorage.setItem(name, next);
    change(next);
  };
  const watch = (watcher: () => void) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  };
  globalThis.addEventListener?.("storage", (event) => {
    if (event.key === name) change(undefined);
  });
  return { now, use: () => [useSyncExternalStore(watch, now), choose] };
}
