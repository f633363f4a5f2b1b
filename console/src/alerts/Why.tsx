// Why a rule wants an event or does not: for each thing that is listed, what was wanted and what was seen.
import { Box, Code, Group, Stack, Text } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import type { Leaf, Tried } from "./preview";

export function Why({ tried: { matches, leaves, except } }: { tried: Tried }) {
  const against = except.findIndex((one) => one.matches);
  return (
    <Stack gap={6}>
      {leaves.length === 0 && <Text size="sm">The rule has no conditions: it wants every event.</Text>}
      <Leaves leaves={leaves} />
      {except.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: exceptions have nothing but their place.
        <Box key={at} pl="sm" style={{ borderLeft: "3px solid var(--edge)" }}>
          <Text size="xs" fw={600} mb={4}>
            Exception {at + 1} {one.matches ? "holds, so the event is not wanted" : "does not hold"}
          </Text>
          <Leaves leaves={one.leaves} />
        </Box>
      ))}
      <Text size="xs" className="quiet">
        {matches
          ? "So the rule matches."
          : against >= 0
            ? "So the rule does not match: an exception holds."
            : "So the rule does not match. Of what is listed for a field one has to hold, and every field."}
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
          Alternative {number + 1}
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
          <IconCheck size={14} color="var(--mantine-color-teal-7)" aria-label="holds" role="img" />
        ) : (
          <IconX size={14} color="var(--mantine-color-red-7)" aria-label="does not hold" role="img" />
        )}
      </Box>
      <Text size="xs" component="div" style={{ overflowWrap: "anywhere" }}>
        <span className="mono">{leaf.path}</span> wanted {leaf.op === "equals" ? "" : `${leaf.op} `}
        <Code>{JSON.stringify(leaf.wanted)}</Code>, {seen === undefined ? "is not there" : "seen "}
        {seen !== undefined && <Code>{seen.length > 120 ? `${seen.slice(0, 120)}…` : seen}</Code>}
      </Text>
    </Group>
  );
}
