// Decisions over time by result, and the share that was denied.
import { Grid, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useMemo } from "react";
import type { Body } from "../api/client";
import { shown } from "../events/estimate";
import { Chart, INK, inkOf } from "../parts/Chart";
import { denyRates, RESULTS } from "./model";

interface DenyRateProps {
  facets: Body<"Facets">;
  onChoose: (from: Date, to: Date) => void;
}

export function DenyRate({ facets, onChoose }: DenyRateProps) {
  const { buckets } = facets.histogram;
  const { complete, counted_from: since } = facets;
  const uncountedBefore = complete || !since ? undefined : Date.parse(since);
  const { at, stack, rate } = useMemo(
    () => ({
      at: buckets.map((bucket) => Date.parse(bucket.at)),
      stack: RESULTS.map((result) => ({
        name: result,
        color: inkOf(result),
        values: buckets.map(({ counts }) => counts[result] ?? 0),
      })),
      rate: [{ name: "denied (%)", color: INK.bad, values: denyRates(buckets) }],
    }),
    [buckets],
  );
  if (facets.counted === 0) {
    return (
      <Text size="sm" className="quiet">
        No decisions in this time range.
      </Text>
    );
  }
  const denied = facets.fields.result.find(({ value }) => value === "denied")?.count ?? 0;
  return (
    <Stack gap="xs">
      <Group gap="lg">
        <Count name={facets.exact && facets.counted === 1 ? "decision" : "decisions"}>
          {shown(facets.counted, facets)}
        </Count>
        <Count name="denied">{shown(denied, facets)}</Count>
        <Count name="denial rate">
          {facets.exact ? "" : "≈ "}
          {written.format((100 * denied) / facets.counted)}%
        </Count>
      </Group>
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Chart
            label="Decisions over time by result"
            kind="bars"
            at={at}
            series={stack}
            uncountedBefore={uncountedBefore}
            height={130}
            onChoose={onChoose}
          />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Chart
            label="Share of denied decisions over time"
            kind="lines"
            at={at}
            series={rate}
            uncountedBefore={uncountedBefore}
            height={130}
            format={percent}
            onChoose={onChoose}
          />
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

function percent(value: number): string {
  return `${Math.round(value)}%`;
}

const written = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

function Count({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Text size="sm" className="quiet">
      <Text span fw={650} size="lg" c="var(--mantine-color-text)">
        {children}
      </Text>{" "}
      {name}
    </Text>
  );
}
