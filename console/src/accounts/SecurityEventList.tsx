// The list of the security log: who did what, when, and from where.
import { Box, Group, Text } from "@mantine/core";
import { Mark } from "../parts/Mark";
import { Rows } from "../parts/Rows";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { describe, type OwnEvent, placeOf } from "./securityEvents";

/** Two lines of text. */
const ROW_HEIGHT = 56;

interface SecurityEventListProps {
  events: OwnEvent[];
  selected: string | undefined;
  onOpen: (event: OwnEvent) => void;
  onClose: () => void;
  onEnd: () => void;
  isMore: boolean;
}

export function SecurityEventList({
  events,
  selected,
  onOpen,
  onClose,
  onEnd,
  isMore,
}: SecurityEventListProps) {
  return (
    <Box className="surface">
      <Rows
        label="Security log"
        rows={events}
        idOf={(event) => event.id}
        rowHeight={ROW_HEIGHT}
        height={Math.min(Math.max(events.length, 3) * ROW_HEIGHT + 4, 640)}
        {...{ selected, onOpen, onClose, onEnd, isMore }}
      >
        {(event) => (
          <Box miw={0} flex={1}>
            <Group gap="xs" wrap="nowrap" miw={0}>
              <Text size="sm" component="span" className="truncate">
                <Told event={event} />
              </Text>
              {event.result !== "success" && <Mark word={event.result} />}
            </Group>
            <Text size="xs" className="quiet truncate" component="div">
              <When at={event.occurred_at} />
              {placeOf(event) && ` · ${placeOf(event)}`}
            </Text>
          </Box>
        )}
      </Rows>
    </Box>
  );
}

/** The whole sentence. */
export function Told({ event }: { event: OwnEvent }) {
  const { did, whom, more } = describe(event);
  return (
    <>
      <strong>
        <Who id={event.agent_id} />
      </strong>{" "}
      {did} {whom && <Who id={whom} />} {more && <span className="quiet">{more}</span>}
    </>
  );
}
