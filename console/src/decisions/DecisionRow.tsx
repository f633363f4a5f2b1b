// A decision in the list.
import { Box, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { duration } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { Head, TimeTitle } from "../parts/Rows";
import { When } from "../parts/When";
import type { Decision } from "./model";

export function DecisionRow({ decision, isNarrow }: { decision: Decision; isNarrow: boolean }) {
  const { result, agent_id, action, resource, metadata } = decision;
  if (isNarrow) {
    return (
      <Box miw={0} w="100%">
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Mark word={result} />
          <Text size="xs" className="quiet">
            <When at={decision.occurred_at} />
          </Text>
        </Group>
        <Text size="sm" className="truncate">
          {agent_id} · {action} {resource}
        </Text>
        <Text size="xs" className="truncate quiet">
          {metadata.reason}
        </Text>
      </Box>
    );
  }
  return CELLS.map(({ label, flex, className, shown }) => {
    const content = shown(decision);
    return (
      <span
        key={label}
        className={`truncate ${className ?? ""}`}
        style={{ flex }}
        data-label={content ? label : undefined}
      >
        {content}
      </span>
    );
  });
}

/** What the columns are, as wide as those of the rows below. */
export function DecisionHead() {
  return (
    <Head>
      {CELLS.map(({ label, flex }) => (
        <span key={label} className="truncate" style={{ flex }}>
          {label === "Time" ? <TimeTitle /> : label}
        </span>
      ))}
    </Head>
  );
}

interface Cell {
  label: string;
  flex: string;
  className?: string;
  shown: (decision: Decision) => ReactNode;
}

/** How wide each is depends on nothing in it, so that rows and heads agree. */
const CELLS: Cell[] = [
  {
    label: "Time",
    flex: "0 0 158px",
    className: "quiet",
    shown: ({ occurred_at }) => <When at={occurred_at} exact />,
  },
  { label: "Decision", flex: "0 0 88px", shown: ({ result }) => <Mark word={result} /> },
  { label: "Agent", flex: "2 1 90px", shown: ({ agent_id }) => agent_id },
  { label: "Action", flex: "2 1 100px", className: "mono", shown: ({ action }) => action },
  { label: "Resource", flex: "1 1 80px", className: "mono quiet", shown: ({ resource }) => resource },
  { label: "Reason", flex: "4 1 170px", shown: ({ metadata }) => metadata.reason },
  {
    label: "Policies",
    flex: "1 1 100px",
    className: "mono quiet",
    shown: ({ metadata }) => metadata.policies?.join(", "),
  },
  { label: "Took", flex: "0 0 60px", className: "quiet", shown: ({ metadata }) => took(metadata.took_us) },
];

function took(us: number | undefined): string | undefined {
  return us === undefined ? undefined : duration(us / 1_000);
}
