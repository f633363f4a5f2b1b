// Results and states by color and word. Color is never the only sign.
import classes from "./Mark.module.css";

const COLORS: Record<string, string> = {
  success: "teal",
  allowed: "teal",
  allow: "teal",
  delivered: "teal",
  approved: "teal",
  ok: "teal",
  up: "teal",
  active: "teal",
  denied: "red",
  deny: "red",
  failed: "red",
  error: "orange",
  down: "red",
  critical: "red",
  high: "orange",
  escalated: "violet",
  escalate: "violet",
  pending: "blue",
  retrying: "yellow",
  medium: "yellow",
  modified: "cyan",
  modify: "cyan",
  canceled: "gray",
  disabled: "gray",
  low: "blue",
  info: "gray",
  shadow: "grape",
  suppressed: "gray",
  paused: "yellow",
  scheduled: "yellow",
  held: "orange",
  running: "blue",
  done: "teal",
  staged: "blue",
  current: "teal",
  previous: "yellow",
};

export function colorOf(word: string): string {
  return COLORS[word] ?? "gray";
}

/** Plain mark-up, because long lists are full of them. */
export function Mark({ word, children }: { word: string; children?: string }) {
  return (
    <span className={classes.mark} data-color={colorOf(word)}>
      {children ?? word}
    </span>
  );
}
