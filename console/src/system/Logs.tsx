// How far each log is behind what was accepted.
import { Group, Progress, Stack, Text } from "@mantine/core";
import type { Body } from "../api/client";
import { counted, number } from "../parts/numbers";
import { Panel } from "../parts/Page";
import { barOf, type Log, logsOf, sumBehind } from "./lag";

export function Logs({ all }: { all: Body<"LogBody">[] }) {
  const behind = sumBehind(all);
  return (
    <Panel title="Logs">
      <Text size="sm" className="quiet" mb="sm">
        {all.length === 0
          ? "The journal is not responding, so the state of its logs is unknown."
          : behind === 0
            ? "Everything accepted has been applied."
            : `${counted(behind, "message is", "messages are")} waiting to be applied; each holds many records. The number should drop on its own.`}
      </Text>
      <Stack gap={8}>
        {logsOf(all).map((log) => (
          <Line key={log.name} {...log} />
        ))}
      </Stack>
    </Panel>
  );
}

function Line({ name, behind, late }: Log) {
  return (
    <div data-log={name}>
      <Group gap="sm" wrap="nowrap">
        <Text size="sm" w={90} className="mono">
          {name}
        </Text>
        <Progress
          flex={1}
          value={barOf(behind)}
          color={behind === 0 ? "teal" : "yellow"}
          aria-label={`${name} is ${behind} behind`}
        />
        <Text size="sm" ta="right" w={90}>
          {behind === 0 ? "up to date" : `${number(behind)} behind`}
        </Text>
      </Group>
      {late.length > 0 && (
        <Text size="xs" className="quiet">
          {late.map(({ partition, behind }) => `Partition ${partition}: ${number(behind)}`).join(" · ")}
        </Text>
      )}
    </div>
  );
}
