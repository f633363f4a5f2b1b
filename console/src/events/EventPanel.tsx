// One complete event, what is related to it, and what can be done with it.
import {
  Box,
  Button,
  CloseButton,
  CopyButton,
  Divider,
  Drawer,
  Group,
  Stack,
  Text,
  Title,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconBellPlus, IconCopy } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMayManage } from "../api/queries";
import { Answered, Loading } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { type FilterBy, Json } from "../parts/Json";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { useKeyName } from "../parts/Who";
import { EventInLog } from "../proof/InLog";
import { Reason } from "../why/Reason";
import { WhySection } from "../why/WhySection";
import { Agent } from "./Agent";
import classes from "./Events.module.css";
import { FIELDS, type Field, termOf } from "./filter";
import { eventOf } from "./list";
import type { AuditEvent } from "./row";

/** Who runs through the list with a key held down passes by events; those are not asked for. */
const SETTLED_MS = 120;

interface EventPanelProps {
  id: string;
  /** Over the list instead of beside it. */
  isNarrow: boolean;
  onClose: () => void;
  onFilter: (field: Field, value: string) => void;
  /** Adds a term to the query. */
  onTerm: (term: string) => void;
  /** Shows only what has this value, whatever was filtered by. */
  onRelated: (field: Field, value: string) => void;
}

export function EventPanel(props: EventPanelProps) {
  const { isNarrow, onClose } = props;
  if (!isNarrow) {
    return (
      <Box component="aside" className={`surface ${classes.panel}`} p="md" aria-label="Event" tabIndex={0}>
        <Group justify="space-between" mb="xs">
          <Title order={2} size="h5">
            Event
          </Title>
          <CloseButton aria-label="Close event" onClick={onClose} />
        </Group>
        <Whole {...props} />
      </Box>
    );
  }
  return (
    <Drawer
      opened
      onClose={onClose}
      size="100%"
      title="Event"
      closeButtonProps={{ "aria-label": "Close event" }}
    >
      <Whole {...props} />
    </Drawer>
  );
}

/** All that there is to say of an event. */
export function Whole({ id, onFilter, onTerm, onRelated }: Omit<EventPanelProps, "isNarrow" | "onClose">) {
  const [settled] = useDebouncedValue(id, SETTLED_MS);
  const query = useQuery(eventOf(settled));
  const filterBy =
    (event: AuditEvent): FilterBy =>
    (path, value) => {
      const [field, ...deeper] = path;
      if (deeper.length === 0 && isField(field)) return () => onFilter(field, value);
      const term = termOf(event, path, value);
      return term === undefined ? undefined : () => onTerm(term);
    };
  if (settled !== id) return <Loading />;
  return (
    <Answered query={query}>
      {(event) => (
        <Stack gap="sm">
          <Summary event={event} />
          <Reason event={event} />
          <WhySection event={event} />
          <Actions event={event} />
          <Related event={event} onRelated={onRelated} />
          <Divider />
          <Json value={event} filterBy={filterBy(event)} />
        </Stack>
      )}
    </Answered>
  );
}

function isField(name: string | undefined): name is Field {
  return FIELDS.some((field) => field === name);
}

function Summary({ event }: { event: AuditEvent }) {
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Text fw={650} style={{ overflowWrap: "anywhere" }}>
          {event.action}
        </Text>
        <Mark word={event.result} />
        {event.severity && <Mark word={event.severity} />}
      </Group>
      <Text size="sm" className="quiet" component="div">
        <Agent event={event} /> · <When at={event.occurred_at} exact />
      </Text>
      <Text size="xs" className="quiet" component="div" style={{ overflowWrap: "anywhere" }}>
        <WrittenBy source={event.source} />
      </Text>
      <Id id={event.id} />
      <EventInLog id={event.id} at={event.received_at} />
    </Stack>
  );
}

function WrittenBy({ source }: Pick<AuditEvent, "source">) {
  const name = useKeyName(source);
  if (source === undefined) return "Recorded before events included their source";
  if (source === "server") return "Recorded by Watchbell";
  return <span title={source}>Sent with API key {name ? `“${name}”` : source}</span>;
}

function Actions({ event }: { event: AuditEvent }) {
  const look = {
    size: "xs",
    leftSection: <IconBellPlus size={14} />,
    children: "Create rule",
  };
  return (
    <Group gap="xs">
      {useMayManage() ? (
        <Button {...look} component={Link} to={`/rules/new?event=${event.id}`} />
      ) : (
        <ManageButton {...look} onClick={undefined} />
      )}
      <CopyButton value={JSON.stringify(event, null, 2)}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" leftSection={<IconCopy size={14} />} onClick={copy}>
            {copied ? "Copied" : "Copy JSON"}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}

function Related({ event, onRelated }: { event: AuditEvent } & Pick<EventPanelProps, "onRelated">) {
  const same: [Field, string, string | undefined][] = [
    ["session_id", "Same session", event.session_id],
    ["trace_id", "Same trace", event.trace_id],
    ["decision_id", "Same decision", event.decision_id],
  ];
  const timelines: [string, string, string | undefined][] = [
    ["session_id", "Session timeline", event.session_id],
    ["trace_id", "Trace timeline", event.trace_id],
  ];
  return (
    <Group gap="xs" role="group" aria-label="Related">
      <Text size="xs" className="quiet">
        Related
      </Text>
      {same.map(
        ([field, name, value]) =>
          value && (
            <Button key={field} size="compact-xs" variant="light" onClick={() => onRelated(field, value)}>
              {name}
            </Button>
          ),
      )}
      {timelines.map(
        ([field, name, value]) =>
          value && (
            <Button
              key={field}
              size="compact-xs"
              variant="light"
              component={Link}
              to="/timeline"
              search={{ [field]: value, event: event.id } as never}
            >
              {name}
            </Button>
          ),
      )}
      {event.decision_id && (
        <Button
          size="compact-xs"
          variant="light"
          component={Link}
          to={`/decisions?decision=${event.decision_id}`}
        >
          View decision
        </Button>
      )}
      <Button size="compact-xs" variant="light" component={Link} to={`/deliveries?event_id=${event.id}`}>
        Deliveries
      </Button>
    </Group>
  );
}
