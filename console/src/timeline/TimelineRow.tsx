// One row of a timeline: what it is, its bar on the axis, and how long it took.
import { VisuallyHidden } from "@mantine/core";
import {
  IconBell,
  IconBinaryTree,
  IconGavel,
  IconMessage,
  IconSparkles,
  IconTool,
  IconUserCheck,
} from "@tabler/icons-react";
import { STATE_WORDS } from "../deliveries/states";
import { Agent } from "../events/Agent";
import { absolute, useZone } from "../parts/clock";
import { colorOf, Mark } from "../parts/Mark";
import { barOf, type Extent, lengthOf, type Row } from "./model";
import classes from "./Timeline.module.css";

/** Deeper is not told apart: what is left of the width is for names. */
const DEPTH_MAX = 8;
const INDENT_PX = 14;

const ICONS: Record<string, typeof IconTool> = {
  trace: IconBinaryTree,
  approval: IconUserCheck,
  alert: IconBell,
  decision: IconGavel,
  model_call: IconSparkles,
  message: IconMessage,
};

interface TimelineRowProps {
  row: Row;
  axis: Extent;
  /** Whether whose step it is must be told. */
  hasAgents: boolean;
}

export function TimelineRow({ row, axis, hasAgents }: TimelineRowProps) {
  const [zone] = useZone();
  const { left, width } = barOf(row, axis);
  const Icon = ICONS[row.kind === "step" ? row.event.event_type : row.kind] ?? IconTool;
  const word = wordOf(row);
  const took = row.to - row.from;
  return (
    <span className={classes.row}>
      <span className={classes.name} style={{ paddingLeft: Math.min(row.depth, DEPTH_MAX) * INDENT_PX }}>
        <Icon size={14} className={classes.kind} aria-hidden />
        {row.depth > 0 && <VisuallyHidden>Level {row.depth + 1}:</VisuallyHidden>}
        <span className="truncate">
          <Title row={row} hasAgents={hasAgents} />
        </span>
        {word && <Mark word={word}>{row.kind === "alert" ? STATE_WORDS[word] : undefined}</Mark>}
      </span>
      <span className={classes.track}>
        <span
          className={classes.bar}
          data-kind={row.kind}
          data-color={word && colorOf(word)}
          style={{ left: `min(${left}%, calc(100% - 3px))`, width: `${width}%` }}
          title={absolute(new Date(row.from), zone)}
        />
      </span>
      <span className={classes.took}>{took > 0 && lengthOf(took)}</span>
    </span>
  );
}

/** How it ended. */
function wordOf(row: Row): string | undefined {
  switch (row.kind) {
    case "step":
      return row.event.result;
    case "approval":
      return row.end?.result ?? "pending";
    case "alert":
      return row.delivery.state;
    case "trace":
      return undefined;
  }
}

function Title({ row, hasAgents }: Pick<TimelineRowProps, "row" | "hasAgents">) {
  switch (row.kind) {
    case "trace":
      return (
        <>
          <strong>Trace</strong> <span className="mono quiet">{row.trace}</span> · {row.steps}{" "}
          {row.steps === 1 ? "step" : "steps"}
        </>
      );
    case "approval":
      return "Approval";
    case "alert":
      return (
        <>
          Alert <span className="quiet">{row.delivery.rule_name}</span>
        </>
      );
    case "step":
      return (
        <>
          <strong>{row.event.action}</strong>{" "}
          <span className="quiet">
            {row.event.resource}
            {hasAgents && (
              <>
                {row.event.resource && " · "}
                <Agent event={row.event} />
              </>
            )}
          </span>
        </>
      );
  }
}
