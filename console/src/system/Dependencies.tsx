// Whether each dependency of the server responds, and how fast.
import { Group, Stack, Text } from "@mantine/core";
import type { Body } from "../api/client";
import { duration } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";

/** What each is for, for who has to find out why it matters. */
const MEANING: Record<string, string> = {
  postgres: "data to search and list",
  journal: "write-ahead log (NATS)",
  redis: "limits shared by all nodes",
};

export function Dependencies({ all }: { all: Body<"DependencyBody">[] }) {
  return (
    <Panel title="Dependencies">
      <Stack gap="sm">
        {all.map(({ name, up, took_ms, detail }) => (
          <Group
            key={name}
            justify="space-between"
            gap="xs"
            wrap="nowrap"
            data-dependency={name}
            data-up={up}
          >
            <div>
              <Text size="sm" fw={600}>
                {name}
              </Text>
              <Text size="xs" className="quiet">
                {MEANING[name] ?? ""}
                {detail && ` · ${detail}`}
              </Text>
            </div>
            <Group gap="xs" wrap="nowrap">
              {took_ms !== null && (
                <Text size="sm" style={{ whiteSpace: "nowrap" }}>
                  {duration(took_ms)}
                </Text>
              )}
              <Mark word={up ? "up" : "down"} />
            </Group>
          </Group>
        ))}
      </Stack>
    </Panel>
  );
}
