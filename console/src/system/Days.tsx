// The daily partitions of the data: how large each is and its state.
import { Button, Progress, SimpleGrid, Table, Text } from "@mantine/core";
import { useAddress } from "../address";
import type { Body } from "../api/client";
import { bytes } from "../parts/numbers";
import { Panel } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { one } from "../search";
import { type Table as DayTable, tablesOf } from "./lag";

type Day = Body<"DayBody">;

const NAMES: Record<string, string> = {
  audit_events: "Events",
  deliveries: "Deliveries",
  delivery_attempts: "Delivery attempts",
};
/** What is of interest at a glance: the days to come, today, and a few before. */
const SHOWN = 7;
const number = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function Days({ all }: { all: Day[] }) {
  return (
    <SimpleGrid cols={{ base: 1, xl: 3 }}>
      {tablesOf(all).map((table) => (
        <DaysOfTable key={table.name} {...table} />
      ))}
    </SimpleGrid>
  );
}

function DaysOfTable({ name, days, bytes: total, rows }: DayTable<Day>) {
  const [address, change] = useAddress();
  const isAll = one(address.days) === name;
  const largest = Math.max(...days.map((day) => day.bytes), 1);
  const title = NAMES[name] ?? name;
  return (
    <Panel title={title}>
      <Text size="sm" className="quiet" mb="xs">
        {days.length} days, about {number.format(rows)} rows, {bytes(total)}
      </Text>
      <Stacked label={`${title} by day`} head={["Day", "Rows", "Size", "State"]}>
        {days.slice(0, isAll ? undefined : SHOWN).map((day) => (
          <Table.Tr key={day.table}>
            <Table.Td data-label="Day" className="mono">
              {day.day}
            </Table.Td>
            <Table.Td data-label="Rows">{day.rows === null ? "?" : number.format(day.rows)}</Table.Td>
            <Table.Td data-label="Size">
              {bytes(day.bytes)}
              <Progress
                value={(day.bytes / largest) * 100}
                size={4}
                w={72}
                aria-label={`Size of ${day.day} compared with the largest day`}
              />
            </Table.Td>
            <Table.Td data-label="State">{state(day)}</Table.Td>
          </Table.Tr>
        ))}
      </Stacked>
      {days.length > SHOWN && (
        <Button
          size="compact-sm"
          variant="default"
          mt="sm"
          onClick={() => change({ days: isAll ? undefined : name })}
        >
          {isAll ? "Show fewer" : `Show all ${days.length}`}
        </Button>
      )}
    </Panel>
  );
}

function state(day: Day) {
  const words = day.kept_until ? `kept until ${day.kept_until}` : day.state;
  return day.archived ? `${words}, archived` : words;
}
