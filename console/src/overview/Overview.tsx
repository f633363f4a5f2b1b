// What needs a person, and the four key numbers over time, each linked to its list.
import { SimpleGrid } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { Answered } from "../parts/Answered";
import { INK } from "../parts/Chart";
import { duration, useNow } from "../parts/clock";
import { Page } from "../parts/Page";
import { intervalOf, type Range, TimeRange, timesOf } from "../parts/TimeRange";
import { one } from "../search";
import { decisions, ingest, type Overview as Numbers, success, undelivered } from "./judgment";
import { Needs } from "./Needs";
import { Start } from "./Start";
import { Tile } from "./Tile";

const ASK_EVERY_MS = 10_000;
/** Over how long the rate of now is taken: whole minutes are counted, and this is never less than one. */
const NOW_MS = 120_000;

export default function Overview() {
  const [search, change] = useAddress();
  const range: Range = { last: one(search.last), from: one(search.from), to: one(search.to) };
  const query = useQuery({
    queryKey: ["overview", range],
    queryFn: () => {
      const { from, to } = timesOf(range);
      return answer(
        api.GET("/v1/overview", { params: { query: { from, to, interval: intervalOf(range) } } }),
      );
    },
    refetchInterval: ASK_EVERY_MS,
    placeholderData: keepPreviousData,
  });
  return (
    <Page
      title="Overview"
      lead="Health of your events, deliveries and decisions."
      actions={
        <TimeRange
          range={range}
          onChange={(next) => change({ last: next.last, from: next.from, to: next.to })}
        />
      }
    >
      <Answered query={query} isEmpty={({ events }) => !events.last_at} empty={<Start />}>
        {(numbers) => (
          <>
            <Needs />
            <Tiles numbers={numbers} range={range} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function Tiles({ numbers, range }: { numbers: Numbers; range: Range }) {
  const now = useNow();
  const rate = useRate();
  const { events, deliveries, decisions: decided } = numbers;
  const oldest = deliveries.oldest_undelivered;
  // Other screens look further back by themselves.
  const same = range.from ? { ...range } : { last: range.last ?? "24h" };
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
      <Tile
        name="Current event rate"
        judged={ingest(numbers, rate, now)}
        last={events.last_at}
        links={[{ name: "Events", to: "/events", search: same }]}
        chart={{
          label: "Events over time",
          kind: "bars",
          at: times(events.buckets),
          series: [
            { name: "events", color: INK.plain, values: events.buckets.map((bucket) => bucket.total) },
          ],
        }}
      />
      <Tile
        name="Delivery success"
        judged={success(numbers)}
        links={[
          ...(deliveries.held > 0
            ? [{ name: "Held deliveries", to: "/deliveries", search: { ...same, state: "held" } }]
            : []),
          { name: "Failed deliveries", to: "/deliveries", search: { ...same, state: "failed" } },
          { name: "All", to: "/deliveries", search: same },
        ]}
        chart={{
          label: "Deliveries over time",
          kind: "bars",
          at: times(deliveries.buckets),
          series: [
            {
              name: "delivered",
              color: INK.good,
              values: deliveries.buckets.map((bucket) => bucket.delivered),
            },
            { name: "failed", color: INK.bad, values: deliveries.buckets.map((bucket) => bucket.failed) },
            {
              name: "held or overdue",
              color: INK.warn,
              values: deliveries.buckets.map((bucket) => bucket.held + bucket.overdue),
            },
          ],
        }}
      />
      <Tile
        name="Oldest undelivered"
        judged={undelivered(numbers, now)}
        links={[
          ...(oldest ? [{ name: "This delivery", to: `/deliveries/${oldest.id}` }] : []),
          { name: "All undelivered", to: "/deliveries", search: { state: ["pending", "scheduled", "held"] } },
        ]}
        chart={{
          label: "Undelivered alerts by event time",
          kind: "bars",
          at: times(deliveries.buckets),
          series: [
            {
              name: "undelivered",
              color: INK.warn,
              values: deliveries.buckets.map((bucket) => bucket.pending),
            },
          ],
        }}
      />
      <Tile
        name="Decision time, p99"
        judged={decisions(numbers)}
        links={[{ name: "Decisions", to: "/decisions", search: same }]}
        chart={{
          label: "Decision time (p99) over time",
          kind: "lines",
          at: times(decided.buckets),
          series: [
            {
              name: "p99",
              color: INK.asked,
              values: decided.buckets.map((bucket) => milliseconds(bucket.p99_us)),
            },
          ],
          format: duration,
        }}
      />
    </SimpleGrid>
  );
}

function times(buckets: { at: string }[]): number[] {
  return buckets.map((bucket) => Date.parse(bucket.at));
}

function milliseconds(us: number | null | undefined): number | null {
  return us === null || us === undefined ? null : us / 1_000;
}

/** Events a second, now: of the minute that is under way and the one before. */
function useRate(): number | undefined {
  const { data } = useQuery({
    queryKey: ["rate"],
    queryFn: async () => {
      const now = Date.now();
      const from = Math.floor((now - NOW_MS / 2) / 60_000) * 60_000;
      const query = { by: "result", interval: "minute", from: new Date(from).toISOString() } as const;
      const { buckets } = await answer(api.GET("/v1/audit/stats", { params: { query } }));
      const total = buckets.reduce((sum, bucket) => sum + bucket.total, 0);
      return total / ((now - from) / 1_000);
    },
    refetchInterval: ASK_EVERY_MS,
  });
  return data;
}
