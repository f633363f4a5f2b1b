// Records that could not be applied, and how to redrive them.
import { Stack, Table, Text } from "@mantine/core";
import type { Body } from "../api/client";
import { Snippet } from "../parts/Copy";
import { Panel } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";

const REDRIVE = "watchbell dead-letters redrive --all --config watchbell.toml";

export function DeadLetters({ letters }: { letters: Body<"DeadLettersBody"> | null }) {
  return (
    <Panel title="Dead letters">
      {letters === null ? (
        <Text size="sm" className="quiet">
          The journal is not responding, so it is not known whether there are any.
        </Text>
      ) : letters.count === 0 ? (
        <Text size="sm" className="quiet">
          None. Records that cannot be applied are set aside here, so they do not hold up later ones.
        </Text>
      ) : (
        <Stack gap="sm">
          <Text size="sm">
            <strong>{letters.count}</strong> could not be applied. Nothing is lost: fix the cause, then
            redrive them.
          </Text>
          <Snippet code={REDRIVE} of="command" />
          <Stacked label="Newest dead letters" head={["Number", "When", "Log", "Reason"]}>
            {letters.newest.map(({ number, at, log, reason }) => (
              <Table.Tr key={number}>
                <Table.Td data-label="Number">{number}</Table.Td>
                <Table.Td data-label="When">
                  <When at={at} />
                </Table.Td>
                <Table.Td data-label="Log" className="mono">
                  {log}
                </Table.Td>
                <Table.Td data-label="Reason">{reason}</Table.Td>
              </Table.Tr>
            ))}
          </Stacked>
        </Stack>
      )}
    </Panel>
  );
}
