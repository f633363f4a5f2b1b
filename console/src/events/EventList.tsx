// The list of events: stored ones page by page, or live ones as they arrive.
import { Alert, Box, Button, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from "react";
import { Answered, Empty, Trouble } from "../parts/Answered";
import { number } from "../parts/numbers";
import { Rows } from "../parts/Rows";
import { When } from "../parts/When";
import { type Column, EventHead, EventRow } from "./EventRow";
import classes from "./Events.module.css";
import { ROWS_MAX, type useEvents } from "./list";
import type { LiveTail } from "./live-tail";
import type { Row } from "./row";

interface EventListProps {
  selected: string | undefined;
  onOpen: (row: Row) => void;
  onClose: () => void;
  columns: readonly Column[];
  isNarrow: boolean;
  frame: RefObject<HTMLDivElement | null>;
}

/** Two lines need more room than one. */
const heights = { narrow: 54, wide: 36 };

function List({ rows, children, ...props }: EventListProps & { rows: Row[]; children?: ReactNode } & Paging) {
  const { columns, isNarrow, onEnd, isMore, ...others } = props;
  const box = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(box);
  return (
    <Box ref={box} className={`surface ${classes.list}`}>
      {!isNarrow && <EventHead columns={columns} />}
      <Rows
        key={isNarrow ? "narrow" : "wide"}
        label="Events"
        rows={rows}
        idOf={(row) => row.id}
        rowHeight={isNarrow ? heights.narrow : heights.wide}
        height={room}
        onEnd={onEnd}
        isMore={isMore}
        {...others}
      >
        {(row) => <EventRow row={row} columns={columns} isNarrow={isNarrow} />}
      </Rows>
      {children}
    </Box>
  );
}

/** What is above the list and below it in its box, and a list that is still of use. */
const AROUND_PX = 56;
const LEAST_PX = 320;

/** How high the list can be so that the page itself need not scroll. What is above it comes and goes. */
function useRoomBelow(box: RefObject<HTMLDivElement | null>): number {
  const [room, setRoom] = useState(LEAST_PX);
  useLayoutEffect(() => {
    const measure = () => {
      const top = (box.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
      setRoom(Math.max(LEAST_PX, Math.round(window.innerHeight - top - AROUND_PX)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  });
  return room;
}

interface Paging {
  onEnd?: () => void;
  isMore?: boolean;
}

interface StoredEventsProps extends EventListProps {
  events: ReturnType<typeof useEvents>;
  isFiltered: boolean;
  /** Looks at all time, without filters. */
  onShowAll: () => void;
}

export function StoredEvents({ events, isFiltered, onShowAll, ...list }: StoredEventsProps) {
  const { query, rows, hasMore, paging, isBarren, searchedTo, goOn } = events;
  const isSearching = hasMore && searchedTo !== null;
  // What is asked for behind the first page has its own place for troubles.
  const first = { ...query, isError: query.isError && rows.length === 0 } as typeof query;
  return (
    <Answered
      query={first as never}
      isEmpty={() => rows.length === 0 && !isSearching}
      empty={<NoEvents isFiltered={isFiltered} onShowAll={onShowAll} />}
    >
      {() => (
        <List {...list} rows={rows} {...paging}>
          {query.isError && rows.length > 0 && <Trouble error={query.error} again={goOn} />}
          {hasMore && isBarren && (
            <Group p="sm" gap="sm">
              <Text size="sm">
                Searched back to <When at={searchedTo} exact />. No more matches so far.
              </Text>
              <Button size="compact-sm" variant="default" onClick={goOn} loading={query.isFetching}>
                Keep searching
              </Button>
            </Group>
          )}
          {rows.length >= ROWS_MAX && (
            <Alert m="sm">
              Showing the newest {number(ROWS_MAX)} events. To see older ones, choose another time range or
              export them.
            </Alert>
          )}
        </List>
      )}
    </Answered>
  );
}

export function LiveEvents({ tail, ...list }: EventListProps & { tail: LiveTail }) {
  return (
    <>
      {tail.error !== undefined && <Trouble error={tail.error} />}
      {tail.rows.length === 0 ? (
        <Empty title="Waiting for the next event">
          New events from your agents appear here immediately if they match the filters.
        </Empty>
      ) : (
        <List {...list} rows={tail.rows} />
      )}
    </>
  );
}

function NoEvents({ isFiltered, onShowAll }: { isFiltered: boolean; onShowAll: () => void }) {
  if (isFiltered) {
    return (
      <Empty
        title="No matching events"
        action={
          <Button variant="default" onClick={onShowAll}>
            Clear filters and show the last 30 days
          </Button>
        }
      >
        No events match these filters in this time range. Widen the range or remove a filter.
      </Empty>
    );
  }
  return (
    <Empty
      title="No events in this time range"
      action={
        <Group>
          <Button component={Link} to="/setup">
            Connect an agent
          </Button>
          <Button variant="default" onClick={onShowAll}>
            Show the last 30 days
          </Button>
        </Group>
      }
    >
      Everything your agents do appears here: each tool call, message and decision is one event. Send events
      with an SDK, a hook, or a single HTTP request.
    </Empty>
  );
}
