// The newest events, each with whether the rule matches it and why.
import { Accordion, Group, Stack, Text } from "@mantine/core";
import { IconBell, IconMinus } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { counted } from "../parts/numbers";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { faultsOf } from "./faults";
import type { PreviewAnswer, Tried } from "./preview";
import { Why } from "./Why";

export function Preview({ query }: { query: UseQueryResult<PreviewAnswer> }) {
  const faults = faultsOf(query.error);
  if (faults.length > 0) {
    return (
      <Text size="sm" className="quiet" data-state="unfinished">
        The rule is incomplete: {faults.map((fault) => fault.detail).join(" ")}
      </Text>
    );
  }
  return (
    <Answered
      query={query}
      isEmpty={(data) => data.events.length === 0}
      empty={
        <Empty title="No events yet">
          Send some events to see here whether the rule would match them.{" "}
          <To path="/setup">Connect an agent</To>
        </Empty>
      }
    >
      {(data) => (
        <Accordion chevronSize={14} styles={{ label: { paddingBlock: 4 } }} aria-label="Newest events">
          {data.events.map((tried) => (
            <Row key={String(tried.event.id)} tried={tried} />
          ))}
        </Accordion>
      )}
    </Answered>
  );
}

/** How many it would ring for, in one line. */
export function Tally({ query }: { query: UseQueryResult<PreviewAnswer> }) {
  if (faultsOf(query.error).length > 0) return <Mark word="error">not valid yet</Mark>;
  if (query.data === undefined) return null;
  const { matched, events } = query.data;
  return (
    <Text size="sm" aria-live="polite" data-matched={matched} data-tally>
      Matches <b>{matched}</b> of the newest {counted(events.length, "event")}
    </Text>
  );
}

function Row({ tried }: { tried: Tried }) {
  const { matches } = tried;
  const event = tried.event as Record<string, unknown>;
  const text = (name: string) => (typeof event[name] === "string" ? (event[name] as string) : "");
  return (
    <Accordion.Item value={text("id")} data-matches={matches}>
      <Accordion.Control py={2} px="xs">
        <Group gap="xs" wrap="nowrap">
          {matches ? (
            <IconBell size={16} color="var(--mantine-color-teal-7)" aria-label="matches" role="img" />
          ) : (
            <IconMinus size={16} color="var(--quiet)" aria-label="does not match" role="img" />
          )}
          <Stack gap={0} flex={1} miw={0}>
            <Text size="sm" className="truncate" fw={matches ? 600 : 400}>
              {text("action") || text("event_type")}
            </Text>
            <Text size="xs" className="quiet truncate">
              {text("event_type")} · {text("agent_id")}
            </Text>
          </Stack>
          {text("result") && <Mark word={text("result")} />}
          <Text size="xs" className="quiet" visibleFrom="lg">
            <When at={text("occurred_at") || text("received_at")} />
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Why tried={tried} />
        <Text size="xs" mt="xs">
          <To path="/events" with={{ event: text("id") }}>
            Open event
          </To>
        </Text>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
