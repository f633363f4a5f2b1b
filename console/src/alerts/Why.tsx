// Why a rule matches an event or not: for each condition, what was expected and what was found.
import { Box, Code, Group, Stack, Text } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import type { Leaf, Tried } from "./preview";

type Explained = Pick<Tried, "matches" | "leaves" | "except">;

export function Why({ tried: { matches, leaves, except } }: { tried: Explained }) {
  const against = except.findIndex((one) => one.matches);
  return (
    <Stack gap={6}>
      {leaves.length === 0 && <Text size="sm">The rule has no conditions: it matches every event.</Text>}
      <Leaves leaves={leaves} />
      {except.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: exceptions have nothing but their place.
        <Box key={at} pl="sm" style={{ borderLeft: "3px solid var(--edge)" }}>
          <Text size="xs" fw={600} mb={4}>
            Exception {at + 1} {one.matches ? "matches, so the event is excluded" : "does not match"}
          </Text>
          <Leaves leaves={one.leaves} />
        </Box>
      ))}
      <Text size="xs" className="quiet">
        {matches
          ? "The rule matches."
          : against >= 0
            ? "The rule does not match: an exception applies."
            : "The rule does not match. Every field must match at least one of its listed values."}
      </Text>
    </Stack>
  );
}

/** Those of `$or` stand together under their number. */
function Leaves({ leaves }: { leaves: Leaf[] }) {
  const numbers = [...new Set(leaves.map((leaf) => leaf.or ?? null))];
  return numbers.map((number) => (
    <Stack key={number ?? "all"} gap={2} pl={number === null ? 0 : "sm"}>
      {number !== null && (
        <Text size="xs" fw={600}>
          OR group {number + 1}
        </Text>
      )}
      {leaves
        .filter((leaf) => (leaf.or ?? null) === number)
        .map((leaf) => (
          <Line key={`${leaf.path} ${leaf.op} ${JSON.stringify(leaf.wanted)}`} leaf={leaf} />
        ))}
    </Stack>
  ));
}

function Line({ leaf }: { leaf: Leaf }) {
  const seen = "seen" in leaf ? JSON.stringify(leaf.seen) : undefined;
  return (
    <Group gap={6} wrap="nowrap" align="flex-start">
      <Box pt={3} style={{ flexShrink: 0, lineHeight: 0 }}>
        {leaf.pass ? (
          <IconCheck size={14} color="var(--mantine-color-teal-7)" aria-label="matches" role="img" />
        ) : (
          <IconX size={14} color="var(--mantine-color-red-7)" aria-label="does not match" role="img" />
        )}
      </Box>
      <Text size="xs" component="div" style={{ overflowWrap: "anywhere" }}>
        <span className="mono">{leaf.path}</span> expected {leaf.op === "equals" ? "" : `${leaf.op} `}
        <Code>{JSON.stringify(leaf.wanted)}</Code>, {seen === undefined ? "is missing" : "found "}
        {seen !== undefined && <Code>{seen.length > 120 ? `${seen.slice(0, 120)}…` : seen}</Code>}
      </Text>
    </Group>
  );
}
