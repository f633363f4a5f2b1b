// The list of matching deliveries, newest first.
import { Box, Button, Group, Stack, Text } from "@mantine/core";
import { IconBellRinging } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useAddress } from "../address";
import type { Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { usePages } from "../parts/pages";
import { Rows } from "../parts/Rows";
import { When } from "../parts/When";
import { all, one } from "../search";
import { FILTERS } from "./filter";
import { deliveries } from "./list";
import { isUnderWay, REASONS, STATE_WORDS } from "./states";

export function DeliveryList() {
  const [search] = useAddress();
  const navigate = useNavigate();
  const range = { last: one(search.last), from: one(search.from), to: one(search.to) };
  const filters = Object.fromEntries(FILTERS.map((name) => [name, one(search[name])]));
  const state = all(search.state);
  const list = useInfiniteQuery(deliveries({ filters, state, range }));
  const paging = usePages(list);
  const isNarrowed = state.length > 0 || FILTERS.some((name) => filters[name] !== undefined);
  return (
    <Answered
      query={list}
      isEmpty={({ pages }) => pages.every((page) => page.data.length === 0) && !list.hasNextPage}
      empty={isNarrowed ? <NoneFits /> : <NoneYet />}
    >
      {({ pages }) => (
        <Box className="surface">
          <Rows
            label="Deliveries"
            rows={pages.flatMap((page) => page.data)}
            idOf={(row) => row.id}
            onOpen={(row) => navigate({ to: `/deliveries/${row.id}` })}
            rowHeight={52}
            height="max(320px, calc(100vh - 300px))"
            {...paging}
          >
            {(row) => <Row delivery={row} />}
          </Rows>
        </Box>
      )}
    </Answered>
  );
}

function Row({ delivery }: { delivery: Body<"DeliveryBody"> }) {
  const { attempts, cause, state, reason } = delivery;
  return (
    <>
      <Box w={84} style={{ flexShrink: 0 }}>
        <Mark word={state}>{STATE_WORDS[state]}</Mark>
      </Box>
      <Stack gap={0} flex={1} miw={0}>
        <Group gap={6} wrap="nowrap">
          <Text size="sm" fw={600} className="truncate">
            {delivery.rule_name}
          </Text>
          {cause !== "match" && <Mark word="info">{cause}</Mark>}
        </Group>
        <Text size="xs" className="quiet truncate">
          {delivery.event_type} → {delivery.url}
        </Text>
      </Stack>
      <Stack gap={0} align="flex-end" style={{ flexShrink: 0 }}>
        <Text size="xs">
          <When at={delivery.matched_at} />
        </Text>
        <Text size="xs" className="quiet truncate" maw={{ base: 104, sm: 260 }}>
          {attempts === 1 ? "1 attempt" : `${attempts} attempts`}
          {delivery.next_at && isUnderWay(delivery) && (
            <>
              , next <When at={delivery.next_at} />
            </>
          )}
          {reason && <Box component="span" visibleFrom="sm">{`, ${REASONS[reason] ?? reason}`}</Box>}
        </Text>
      </Stack>
    </>
  );
}

function NoneFits() {
  return (
    <Empty
      title="No matching deliveries"
      action={
        <Button component={Link} to="/deliveries" variant="default" size="xs">
          Show all deliveries
        </Button>
      }
    >
      Choose another state or time range, or clear the filters.
    </Empty>
  );
}

function NoneYet() {
  return (
    <Empty
      title="No deliveries in this time range"
      icon={<IconBellRinging size={26} />}
      action={
        <Button component={Link} to="/rules" size="xs">
          View alert rules
        </Button>
      }
    >
      When an event matches an alert rule, its webhook is listed here with every attempt to deliver it. To see
      one now, send a test alert from a rule.
    </Empty>
  );
}
