// How many alerts the rule would have sent recently, found by running it against stored events.
import { Button, Group, Progress, SegmentedControl, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Body } from "../api/client";
import { Trouble } from "../parts/Answered";
import { Chart, INK } from "../parts/Chart";
import { duration } from "../parts/clock";
import { ManageButton } from "../parts/ManageButton";
import { counted } from "../parts/numbers";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { backtest, daysOf, type Progress as HowFar, type Result } from "./backtest";
import type { Draft } from "./draft";

const DAYS = { "24 h": 1, "7 days": 7, "30 days": 30 };
type Span = keyof typeof DAYS;

export function Backtest({ draft }: { draft: Draft }) {
  const [span, setSpan] = useState<Span>("7 days");
  const [howFar, setHowFar] = useState<HowFar>();
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = useMutation({
    mutationFn: async () => {
      stop.current?.abort();
      const controller = new AbortController();
      stop.current = controller;
      setHowFar(undefined);
      const from = new Date(Date.now() - DAYS[span] * 86_400_000);
      const result = await backtest(draft, from, setHowFar, controller.signal);
      return { result, from, span, of: JSON.stringify(draft) };
    },
  });
  const isStale = run.data !== undefined && run.data.of !== JSON.stringify(draft);
  return (
    <Stack gap="sm">
      <Text size="sm" className="quiet">
        Runs this rule against stored events and counts the alerts it would have sent. Nothing is sent or
        saved.
      </Text>
      <Group gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="How far back"
          data={Object.keys(DAYS)}
          value={span}
          onChange={(value) => setSpan(value as Span)}
        />
        <ManageButton size="xs" onClick={() => run.mutate()} loading={run.isPending}>
          Run backtest
        </ManageButton>
        {run.isPending && (
          <Button size="xs" variant="default" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        )}
      </Group>
      {run.isPending && <HowFarBar howFar={howFar} />}
      {run.isError && run.error.name !== "AbortError" && (
        <Trouble error={run.error} again={() => run.mutate()} />
      )}
      {run.data && (
        <>
          {isStale && (
            <Text size="xs" className="quiet">
              The rule has changed. Run the backtest again.
            </Text>
          )}
          <Outcome {...run.data} />
        </>
      )}
    </Stack>
  );
}

function HowFarBar({ howFar }: { howFar: HowFar | undefined }) {
  const percent = Math.round((howFar?.progress ?? 0) * 100);
  return (
    <div>
      <Progress value={Math.max(percent, 2)} animated aria-label="Backtest progress" />
      <Text size="xs" className="quiet" mt={4}>
        {howFar
          ? `${percent}% of the time range, ${counted(howFar.scanned, "event")}, ${counted(howFar.matched, "match", "matches")} so far`
          : "Starting…"}
      </Text>
    </div>
  );
}

function Outcome({ result, from, span }: { result: Result; from: Date; span: Span }) {
  const days = useMemo(() => daysOf(result, from, new Date()), [result, from]);
  const at = useMemo(() => days.map((day) => day.at), [days]);
  const series = useMemo(
    () => [
      { name: "alerts", color: INK.plain, values: days.map((day) => day.alerts) },
      {
        name: "matches without an alert",
        color: INK.other,
        values: days.map((day) => Math.max(day.matched - day.alerts, 0)),
      },
    ],
    [days],
  );
  return (
    <Stack gap="xs" data-alerts={result.alerts}>
      <Text>
        Would have sent <b>{result.alerts.toLocaleString("en")}</b> {result.alerts === 1 ? "alert" : "alerts"}{" "}
        in {span}
      </Text>
      <Text size="xs" className="quiet">
        {counted(result.matched, "event")} matched
        {result.suppressed > 0 && `, ${counted(result.suppressed, "alert")} would have been suppressed`}.
        Scanned {counted(result.scanned, "event")} in {duration(result.took_ms)}.
        {!result.complete && ` Incomplete: ${result.incomplete_because ?? ""}`}
      </Text>
      {days.length > 1 && <Chart label="Alerts by day" kind="bars" at={at} series={series} height={150} />}
      <Samples samples={result.samples} />
    </Stack>
  );
}

function Samples({ samples }: { samples: Body<"Event">[] }) {
  if (samples.length === 0) return null;
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        Most recent matches
      </Text>
      <Stack gap={2}>
        {samples.map((event) => (
          <Group key={event.id} gap="xs" wrap="nowrap">
            <Text size="xs" className="truncate" flex={1}>
              <To path="/events" with={{ event: event.id }}>
                {event.action}
              </To>{" "}
              · {event.agent_id}
            </Text>
            <Text size="xs" className="quiet">
              <When at={event.occurred_at} />
            </Text>
          </Group>
        ))}
      </Stack>
    </div>
  );
}
