// One number: its value, its verdict in color and words, its history, and a link to its list.
import { Anchor, Box, Group, Text, ThemeIcon, Title } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconMinus, IconUrgent } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { Chart } from "../parts/Chart";
import type { TimeChartProps } from "../parts/TimeChart";
import { When } from "../parts/When";
import type { Grade, Judged } from "./judgment";
import classes from "./Tile.module.css";

const LOOKS: Record<Grade, { color: string; icon: typeof IconCheck }> = {
  good: { color: "teal", icon: IconCheck },
  warn: { color: "yellow", icon: IconAlertTriangle },
  bad: { color: "red", icon: IconUrgent },
  none: { color: "gray", icon: IconMinus },
};

interface TileProps {
  name: string;
  judged: Judged;
  /** When it last happened, where that matters. */
  last?: string | null;
  links: { name: string; to: string; search?: Record<string, string | string[] | undefined> }[];
  chart: TimeChartProps;
}

export function Tile({ name, judged, last, links, chart }: TileProps) {
  const look = LOOKS[judged.grade];
  return (
    <Box
      component="section"
      className={`surface ${classes.tile}`}
      data-grade={judged.grade}
      p="md"
      miw={0}
      aria-label={name}
    >
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Title order={2} size="h6" className="quiet">
          {name}
        </Title>
        <Group gap={6} wrap="nowrap">
          <ThemeIcon size={20} radius="xl" variant="light" color={look.color} aria-hidden>
            <look.icon size={13} />
          </ThemeIcon>
          <Text size="sm" fw={600}>
            {judged.verdict}
          </Text>
        </Group>
      </Group>
      <Text className={classes.value}>{judged.value}</Text>
      <Text size="sm" className="quiet" component="div" mih={42}>
        {judged.note}{" "}
        {last && (
          <>
            Last event <When at={last} />.
          </>
        )}
      </Text>
      <Chart height={110} {...chart} />
      <Group gap="md" mt="xs">
        {links.map((link) => (
          <Anchor key={link.name} component={Link} to={link.to} search={link.search as never} size="sm">
            {link.name}
          </Anchor>
        ))}
      </Group>
    </Box>
  );
}
