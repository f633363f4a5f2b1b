// Where the time of an attempt went, as a bar and in words.
import { Box, Group, Text } from "@mantine/core";
import type { Body } from "../api/client";
import { duration } from "../parts/clock";
import classes from "./Phases.module.css";
import { phasesOf } from "./phases";

export function Phases({ attempt }: { attempt: Body<"AttemptBody"> }) {
  const { phases, total } = phasesOf(attempt);
  const words = phases.map(({ name, took }) => `${name} ${duration(took / 1_000)}`);
  return (
    <div>
      <Box
        className={classes.bar}
        role="img"
        aria-label={`${words.join(", ")}; ${duration(total / 1_000)} total`}
      >
        {phases.map(({ name, from, took }) => (
          <span
            key={name}
            className={classes.phase}
            data-phase={name}
            style={{ left: `${share(from, total)}%`, width: `${share(took, total)}%` }}
          />
        ))}
      </Box>
      <Group gap="sm" mt={4}>
        {phases.map(({ name, took }) => (
          <Text key={name} size="xs" className="quiet" span>
            <span className={classes.key} data-phase={name} aria-hidden /> {name} {duration(took / 1_000)}
          </Text>
        ))}
        <Text size="xs" span fw={600}>
          {duration(total / 1_000)} total
        </Text>
      </Group>
    </div>
  );
}

function share(part: number, total: number): number {
  return total === 0 ? 0 : (part / total) * 100;
}
