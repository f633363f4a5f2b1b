// Keyboard shortcuts: a screen names its own, and "?" lists those that work on it.
import { useEffect, useRef } from "react";
import { kept } from "./kept";

export interface Shortcut {
  /** Any of these, as a browser names them; `g e` is one key after the other. */
  keys: string[];
  about: string;
  /** Left out while there is nothing to do: then the key is left alone. */
  run?: (() => void) | undefined;
}

export interface ShortcutGroup {
  name: string;
  shortcuts: Shortcut[];
}

/** The group of those that work on every screen. */
export const EVERYWHERE = "Everywhere";

const TYPED_INTO =
  "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], [role=dialog]:not([data-beside]), [role=menu]";
/** What takes Space for itself. */
const PRESSED = "button, a, input, [role=button]";
/** What may be held down to walk on. */
const WALKING = ["j", "k"];
/** How long the second key of two may take. */
const SECOND_KEY_MS = 1_500;

/**
 * Whether a letter or a sign alone does something. Who speaks to the computer, or hits keys by accident, turns that off
 * (WCAG 2.1.4).
 */
const singleKeys = kept("watchbell.single-keys", ["on", "off"]);
export const useSingleKeys = singleKeys.use;

/** What is on the screen; what came last is asked first. */
const groups: { current: ShortcutGroup }[] = [];
let first: { key: string; at: number } | undefined;

/** Hears these keys wherever the focus is, but where somebody types or a dialog is open. */
export function useShortcuts(name: string, shortcuts: Shortcut[]): void {
  const latest = useRef<ShortcutGroup>({ name, shortcuts });
  latest.current = { name, shortcuts };
  useEffect(() => {
    if (groups.length === 0) document.addEventListener("keydown", onKeyDown);
    groups.unshift(latest);
    return () => {
      groups.splice(groups.indexOf(latest), 1);
      if (groups.length === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}

/** What works on this screen now. */
export function shortcutGroups(): ShortcutGroup[] {
  return groups.map(({ current }) => current).filter(({ shortcuts }) => shortcuts.length > 0);
}

/** Whether a key may do something: Enter, Escape and the arrows always may. */
export function mayDo(key: string): boolean {
  return key.length > 1 || singleKeys.now() === "on";
}

function onKeyDown(event: KeyboardEvent): void {
  if (!mayDo(event.key)) return;
  // A key that is held down is pressed once.
  if (event.repeat && event.key.length === 1 && !WALKING.includes(event.key)) return;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const isIn = (what: string) => event.target instanceof Element && event.target.closest(what) !== null;
  if (isIn(TYPED_INTO) || (event.key === " " && isIn(PRESSED))) return;
  // A menu closes with Escape, also where its button still has the focus.
  if (event.key === "Escape" && document.querySelector("[role=menu]") !== null) return;
  if (document.querySelector("[aria-modal=true]") !== null) return;
  const before = first !== undefined && Date.now() - first.at < SECOND_KEY_MS ? first.key : undefined;
  first = undefined;
  const shortcuts = shortcutGroups().flatMap((group) => group.shortcuts);
  const found = shortcutOf(shortcuts, before, event.key);
  if (found === "first of two") first = { key: event.key, at: Date.now() };
  else if (found?.run === undefined) return;
  else found.run();
  event.preventDefault();
}

/** What a key means after the one before it, if that was the first of two. */
export function shortcutOf(
  shortcuts: Shortcut[],
  before: string | undefined,
  key: string,
): Shortcut | "first of two" | undefined {
  const named = (name: string) => shortcuts.find(({ keys }) => keys.includes(name));
  const second = before === undefined ? undefined : named(`${before} ${key}`);
  if (second) return second;
  const isFirst = shortcuts.some(({ keys }) => keys.some((name) => name.startsWith(`${key} `)));
  return named(key) ?? (isFirst ? "first of two" : undefined);
}
