// The newest events, those that the rule matches first, each with why or why not.
import { Accordion, Group, Stack, Text } from "@mantine/core";
import { IconBell, IconMinus } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { counted } from "../parts/numbers";
import { To } from "../parts/To";
import { When } from "../parts/When";
import type { Result } from "./backtest";
import { faultsOf } from "./faults";
import { inOrder, type PreviewAnswer, type Tried } from "./preview";
import { Why } from "./Why";

export function Preview({ query }: { query: UseQueryResult<PreviewAnswer> }) {
  if (faultsOf(query.error).length > 0) {
    return (
      <Text size="sm" className="quiet" data-state="unfinished">
        Complete the marked fields to see which events match.
      </Text>
    );
  }
  return (
    <Answered
      query={query}
      isEmpty={(data) => inOrder(data).length === 0}
      empty={
        <Empty title="No events yet">
          Send some events to see here whether the rule would match them.{" "}
          <To path="/setup">Connect an agent</To>
        </Empty>
      }
    >
      {(data) => (
        <Accordion chevronSize={14} styles={{ label: { paddingBlock: 4 } }} aria-label="Events">
          {inOrder(data).map((tried) => (
            <Row key={tried.event.id} tried={tried} isSource={tried === data.named} />
          ))}
        </Accordion>
      )}
    </Answered>
  );
}

interface TallyProps {
  query: UseQueryResult<PreviewAnswer>;
  /** What the last 24 hours would have brought. */
  day: UseQueryResult<Result>;
}

/** How many it matches, and how many alerts that would have been, in one line. */
export function Tally({ query, day }: TallyProps) {
  if (faultsOf(query.error).length > 0) return <Mark word="error">not valid yet</Mark>;
  if (query.data === undefined) return null;
  const { matched, events } = query.data;
  return (
    <Text size="sm" aria-live="polite" data-matched={matched} data-tally>
      Matches <b>{matched}</b> of the newest {counted(events.length, "event")}
      {day.data && (
        <span data-day={day.data.alerts}>
          {" · "}would have sent <b>{counted(day.data.alerts, "alert")}</b> in 24 h
          {!day.data.complete && " or more"}
        </span>
      )}
    </Text>
  );
}

function Row({ tried, isSource }: { tried: Tried; isSource: boolean }) {
  const { matches } = tried;
  const event = tried.event as Record<string, unknown>;
  const text = (name: string) => (typeof event[name] === "string" ? (event[name] as string) : "");
  return (
    <Accordion.Item value={text("id")} data-matches={matches} data-source={isSource || undefined}>
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
              {isSource && "Source event · "}
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
