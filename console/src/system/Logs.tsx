// How far each log is behind what was accepted.
import { Group, Progress, Stack, Text } from "@mantine/core";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { barOf, inOrder, sumBehind } from "./lag";

const number = new Intl.NumberFormat("en");

export function Logs({ all }: { all: Body<"LogBody">[] }) {
  const behind = sumBehind(all);
  return (
    <Panel title="Logs">
      <Text size="sm" className="quiet" mb="sm">
        {all.length === 0
          ? "The journal is not responding, so the state of its logs is unknown."
          : behind === 0
            ? "Everything accepted has been applied."
            : `${number.format(behind)} messages are waiting to be applied; each holds many records. The number should drop on its own.`}
      </Text>
      <Stack gap={8}>
        {inOrder(all).map((log) => (
          <Line key={`${log.log}${log.partition}`} {...log} />
        ))}
      </Stack>
    </Panel>
  );
}

function Line({ log, partition, last_sequence, behind }: Body<"LogBody">) {
  const name = `${log} ${partition}`;
  return (
    <Group gap="sm" wrap="nowrap" data-log={name}>
      <Text size="sm" w={90} className="mono">
        {name}
      </Text>
      <Progress
        flex={1}
        value={barOf(behind)}
        color={behind === 0 ? "teal" : "yellow"}
        aria-label={`${name} is ${behind} behind`}
      />
      <Text size="sm" ta="right" w={170}>
        {number.format(behind)} behind
        <Text size="xs" className="quiet" component="span">
          {" "}
          of {number.format(last_sequence)}
        </Text>
      </Text>
    </Group>
  );
}
