// The security log: who changed what in the organization. It is part of the trail.
import { Button, Drawer, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { Problem } from "../api/problem";
import { Answered, Empty } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { Page } from "../parts/Page";
import { usePages } from "../parts/pages";
import { type Range, TimeRange, timesOf } from "../parts/TimeRange";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { EventInLog } from "../proof/InLog";
import { one } from "../search";
import { SecurityEventList, Told } from "./SecurityEventList";
import { isOwn, KINDS, type OwnEvent, placeOf } from "./securityEvents";

/** Little happens to an organization, so it looks far back. */
const USUAL = "30d";

export default function SecurityLog() {
  const [address, change] = useAddress();
  const log = useLog();
  const paging = usePages(log.pages);
  const open = one(address.event);
  const close = () => change({ event: undefined });
  const isFiltered = address.kind !== undefined || address.who !== undefined;
  return (
    <Page
      title="Security log"
      lead="Who signed in, and who changed keys, members, rules, policies and secrets. It is part of the trail, so alert rules can watch it too."
    >
      <Filters />
      <Answered
        query={log.pages}
        isEmpty={() => log.events.length === 0 && !log.pages.hasNextPage}
        empty={
          <Empty
            title="No entries in this time range"
            icon={<IconHistory size={26} />}
            action={
              isFiltered && (
                <Button variant="default" onClick={() => change({ kind: undefined, who: undefined })}>
                  Show everything
                </Button>
              )
            }
          >
            Each time someone signs in, creates a key, or changes a role, a rule or a policy, an entry records
            who, when and from where.
          </Empty>
        }
      >
        {() => (
          <SecurityEventList
            events={log.events}
            selected={open}
            onOpen={(event) => change({ event: event.id }, { replace: open !== undefined })}
            onClose={close}
            {...paging}
          />
        )}
      </Answered>
      <Drawer opened={open !== undefined} onClose={close} title="Event details">
        {open && <Detail id={open} known={log.events.find(({ id }) => id === open)} />}
      </Drawer>
    </Page>
  );
}

function useLog() {
  const [address] = useAddress();
  const [kind, who] = [one(address.kind), one(address.who)];
  const range: Range = { last: one(address.last), from: one(address.from), to: one(address.to) };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pages of a list must agree on its times.
  const times = useMemo(() => timesOf(range, USUAL), [range.last, range.from, range.to]);
  const query = {
    ...times,
    event_type: kind === undefined ? Object.keys(KINDS) : [kind],
    agent_id: who === undefined ? undefined : [who],
    // Nobody else writes it.
    source: ["server"],
    limit: 200,
  };
  const pages = useInfiniteQuery({
    queryKey: ["security log", query],
    queryFn: ({ pageParam }) =>
      answer(api.GET("/v1/audit/events", { params: { query: { ...query, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const events = pages.data?.pages.flatMap((page) => page.data as unknown as OwnEvent[]) ?? [];
  return { pages, events };
}

function Filters() {
  const [address, change] = useAddress();
  const people = useQuery({
    queryKey: ["members"],
    queryFn: () => answer(api.GET("/v1/members", { params: { query: { limit: 1000 } } })),
  });
  const range: Range = { last: one(address.last), from: one(address.from), to: one(address.to) };
  return (
    <Group gap="sm" align="flex-end">
      <NativeSelect
        label="Kind"
        size="xs"
        data={[{ value: "", label: "Everything" }, ...options(KINDS)]}
        value={one(address.kind) ?? ""}
        onChange={(event) => change({ kind: event.currentTarget.value })}
      />
      <NativeSelect
        label="Person"
        size="xs"
        data={[
          { value: "", label: "Everyone" },
          ...(people.data?.data ?? []).map(({ id, email }) => ({ value: id, label: email })),
        ]}
        value={one(address.who) ?? ""}
        onChange={(event) => change({ who: event.currentTarget.value })}
      />
      <TimeRange range={range} usual={USUAL} onChange={({ last, from, to }) => change({ last, from, to })} />
    </Group>
  );
}

function options(of: Record<string, string>) {
  return Object.entries(of).map(([value, label]) => ({ value, label }));
}

/** The whole event; one that is not in the list is asked for: a link may lead to anything. */
function Detail({ id, known }: { id: string; known: OwnEvent | undefined }) {
  const asked = useQuery({
    queryKey: ["security event", id],
    queryFn: async () => {
      const event = await answer(api.GET("/v1/audit/events/{id}", { params: { path: { id } } }));
      if (!isOwn(event)) throw new Problem(404, { detail: "This event is not in the security log." });
      return event as unknown as OwnEvent;
    },
    enabled: known === undefined,
  });
  if (known === undefined) {
    return <Answered query={asked}>{(event) => <Whole event={event} />}</Answered>;
  }
  return <Whole event={known} />;
}

function Whole({ event }: { event: OwnEvent }) {
  return (
    <Stack gap="md">
      <Text>
        <Told event={event} />
      </Text>
      <Facts
        of={{
          When: <When at={event.occurred_at} exact />,
          From: placeOf(event),
          Result: <Mark word={event.result} />,
          Kind: KINDS[event.event_type] ?? event.event_type,
          Event: (
            <Id id={event.id}>
              <To path="/events" with={{ event: event.id }}>
                {event.id}
              </To>
            </Id>
          ),
        }}
      />
      <EventInLog id={event.id} at={event.occurred_at} />
      <Json value={event} />
    </Stack>
  );
}
