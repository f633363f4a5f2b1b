// One run of an agent, by session or trace: every step in order and nested, on an axis that is to scale.
import { ActionIcon, Alert, Box, Button, Group, Text, Tooltip } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconRefresh } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import { useAddress } from "../address";
import { queries } from "../api/queries";
import { Side } from "../decisions/Side";
import { Whole } from "../events/EventPanel";
import type { AuditEvent } from "../events/row";
import { Answered, Empty } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { counted, number } from "../parts/numbers";
import { Page } from "../parts/Page";
import { Rows } from "../parts/Rows";
import { Share } from "../parts/Share";
import { When } from "../parts/When";
import { one } from "../search";
import { axisOf, lengthOf, type Row } from "./model";
import { Ruler } from "./Ruler";
import { useRun } from "./run";
import { type Of, PAGE } from "./steps";
import { TimelineRow } from "./TimelineRow";

/** Two lines need more room than one. */
const HEIGHTS = { narrow: 54, wide: 34 };
/** What is above the rows and below them. */
const AROUND = "300px";

export default function Timeline() {
  const [address] = useAddress();
  const [session_id, trace_id] = [one(address.session_id), one(address.trace_id)];
  const [from, to] = [one(address.from), one(address.to)];
  const id = session_id ?? trace_id;
  const name = session_id === undefined ? "Trace" : "Session";
  if (id === undefined) return <NothingChosen />;
  return (
    <Run key={id} name={name} id={id} of={{ ...(session_id ? { session_id } : { trace_id }), from, to }} />
  );
}

function Run({ name, id, of }: { name: string; id: string; of: Of }) {
  const run = useRun(of);
  const { query, rows, times, isCut } = run;
  return (
    <Page
      title={`${name} timeline`}
      lead={<Id id={id} />}
      actions={
        <>
          <Button
            size="xs"
            variant="default"
            component={Link}
            to="/events"
            search={{ ...of, ...(times ?? {}) } as never}
          >
            Show as a list
          </Button>
          <Tooltip label="Refresh">
            <ActionIcon
              variant="default"
              aria-label="Refresh"
              onClick={() => queries.invalidateQueries({ queryKey: ["timeline"] })}
            >
              <IconRefresh size={16} />
            </ActionIcon>
          </Tooltip>
          {/* What is not loaded may be later than what is. */}
          {times && <Share times={{ from: times.from, to: isCut ? of.to : times.to }} />}
        </>
      }
    >
      <Answered
        query={query}
        isEmpty={() => rows.length === 0}
        empty={
          <Empty title={`No steps in this ${name.toLowerCase()}`}>
            Events appear here if they carry the same <code>{of.session_id ? "session_id" : "trace_id"}</code>
            . They are nested if they carry a <code>span_id</code>, and <code>metadata.parent_span_id</code>{" "}
            names another.
          </Empty>
        }
      >
        {() => <Shown run={run} />}
      </Answered>
    </Page>
  );
}

function Shown({ run }: { run: ReturnType<typeof useRun> }) {
  const { query, rows, gaps, steps, isCut } = run;
  const [address, change] = useAddress();
  const navigate = useNavigate();
  const isPhone = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const axis = useMemo(() => axisOf(rows), [rows]);
  const hasAgents = useMemo(() => agentsOf(rows).length > 1, [rows]);
  const rowHeight = isPhone ? HEIGHTS.narrow : HEIGHTS.wide;
  const selected = one(address.event);
  const frame = useRef<HTMLDivElement>(null);
  // Who comes from an event finds it on the screen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only on coming here; afterwards people scroll themselves.
  useEffect(() => {
    const at = rows.findIndex(({ id }) => id === selected);
    if (at >= 0 && frame.current) frame.current.scrollTop = at * rowHeight - frame.current.clientHeight / 2;
  }, []);
  const open = (row: Row) => {
    if (row.kind === "step") change({ event: row.event.id }, { replace: selected !== undefined });
    else navigate(placeOf(row) as never);
  };
  const close = () => change({ event: undefined });
  const toList = (field: string, value: string) =>
    navigate({ to: "/events", search: { [field]: value } as never });
  return (
    <>
      <Summary rows={rows} isCut={isCut} />
      <Box className="surface" style={{ overflow: "hidden" }}>
        <Ruler axis={axis} />
        <Rows
          key={isPhone ? "narrow" : "wide"}
          label="Steps, in order"
          rows={rows}
          idOf={(row) => row.id}
          rowHeight={rowHeight}
          height={`min(${rows.length * rowHeight + 2}px, max(320px, calc(100vh - ${AROUND})))`}
          frame={frame}
          selected={selected}
          onOpen={open}
          onClose={close}
        >
          {(row) => <TimelineRow row={row} axis={axis} hasAgents={hasAgents} />}
        </Rows>
      </Box>
      {query.hasNextPage && (
        <Group gap="sm">
          <Text size="sm">These are the first {number(steps)} steps; there are more.</Text>
          <Button
            size="compact-sm"
            variant="default"
            loading={query.isFetching}
            onClick={() => query.fetchNextPage()}
          >
            Load {number(PAGE)} more
          </Button>
        </Group>
      )}
      {isCut && !query.hasNextPage && (
        <Alert>
          These are the first {number(steps)} steps; there are more. Open one of the traces, or show the
          session as a list.
        </Alert>
      )}
      {gaps.map((gap) => (
        <Text key={gap} size="xs" className="quiet">
          {gap}
        </Text>
      ))}
      {selected !== undefined && (
        <Side title="Step" onClose={close}>
          <Whole
            id={selected}
            onFilter={toList}
            onTerm={(term) => toList("filter", term)}
            onRelated={toList}
          />
        </Side>
      )}
    </>
  );
}

/** Where what is no step of its own is shown. */
function placeOf(row: Exclude<Row, { kind: "step" }>) {
  switch (row.kind) {
    case "trace":
      return { to: "/timeline", search: { trace_id: row.trace } };
    case "approval":
      return { to: "/approvals", search: { approval: row.decision } };
    case "alert":
      return { to: `/deliveries/${row.delivery.id}` };
  }
}

function eventsOf(rows: Row[]): AuditEvent[] {
  return rows.flatMap((row) => (row.kind === "step" ? [row.event] : []));
}

function agentsOf(rows: Row[]): string[] {
  return [...new Set(eventsOf(rows).map(({ agent_id }) => agent_id))];
}

function Summary({ rows, isCut }: { rows: Row[]; isCut: boolean }) {
  const { from, to } = axisOf(rows);
  const events = eventsOf(rows);
  const agents = agentsOf(rows);
  const denied = events.filter(({ result }) => result === "denied").length;
  const alerts = rows.filter(({ kind }) => kind === "alert").length;
  return (
    <Text size="sm" component="div">
      {agents.length === 1 ? agents[0] : `${agents.length} agents`} · {isCut && "first "}
      {counted(events.length, "step")} · {lengthOf(to - from)} from{" "}
      <When at={new Date(from).toISOString()} exact />
      {denied > 0 && ` · ${number(denied)} denied`}
      {alerts > 0 && ` · ${counted(alerts, "alert")}`}
    </Text>
  );
}

function NothingChosen() {
  return (
    <Page title="Timeline">
      <Empty
        title="Choose a session or a trace"
        action={
          <Button component={Link} to="/events">
            Go to events
          </Button>
        }
      >
        Open an event that belongs to a session or a trace, then choose its timeline.
      </Empty>
    </Page>
  );
}
