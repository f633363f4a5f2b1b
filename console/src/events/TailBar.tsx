// The state of the live tail: connection, waiting events, skipped events.
import { Button, Group, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import type { LiveState } from "../api/live";
import { Mark } from "../parts/Mark";
import { counted, number } from "../parts/numbers";
import type { LiveTail } from "./live-tail";
import { TAIL_ROWS_MAX } from "./tail";

const STATES: Record<LiveState, { word: string; color: string }> = {
  connecting: { word: "Connecting…", color: "pending" },
  open: { word: "Live", color: "up" },
  lost: { word: "Connection lost, reconnecting", color: "down" },
};

export function TailBar({ tail }: { tail: LiveTail }) {
  const { state, isPaused, waitingCount, oneIn, skipped } = tail;
  const shown = isPaused && state === "open" ? { word: "Paused", color: "paused" } : STATES[state];
  const notes = [
    oneIn > 1 ? `Events arrive too fast to read: showing 1 in ${oneIn}.` : "",
    skipped > 0 ? `${number(skipped)} were skipped because they arrived too fast.` : "",
    tail.rows.length >= TAIL_ROWS_MAX ? `Only the last ${number(TAIL_ROWS_MAX)} are kept.` : "",
  ];
  return (
    <Group gap="xs" data-live={state} data-paused={isPaused}>
      <Mark word={shown.color}>{shown.word}</Mark>
      <Button
        size="compact-xs"
        variant={isPaused ? "filled" : "default"}
        leftSection={isPaused ? <IconPlayerPlay size={12} /> : <IconPlayerPause size={12} />}
        onClick={isPaused ? tail.resume : tail.pause}
      >
        {isPaused ? (waitingCount > 0 ? `Show ${number(waitingCount)} new` : "Resume") : "Pause"}
      </Button>
      <Text size="xs" className="quiet">
        {counted(tail.rows.length, "event")}, as they arrive. {notes.filter((note) => note !== "").join(" ")}
      </Text>
    </Group>
  );
}
