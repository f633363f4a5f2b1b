// A virtualized list. j and k move down and up, Enter opens, Escape closes.
import { Box, Text } from "@mantine/core";
import { useMergedRef } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { useZone } from "./clock";
import { mayDo } from "./keys";
import classes from "./Rows.module.css";

interface RowsProps<T> {
  /** What is listed, for those who do not see it. */
  label: string;
  rows: T[];
  idOf: (row: T) => string;
  /** The id of the row that is open beside the list. While one is, the next one opens by going there. */
  selected?: string;
  onOpen: (row: T) => void;
  /** Called when what is open shall close. */
  onClose?: () => void;
  /** A cell with `data-label` is read aloud with that name before it. */
  children: (row: T) => ReactNode;
  rowHeight?: number;
  height: number | string;
  /** Called when the end comes near, if there is more. */
  onEnd?: () => void;
  isMore?: boolean;
  /** What scrolls, for who wants to know where it is or take it elsewhere. */
  frame?: RefObject<HTMLDivElement | null>;
}

/** How many rows before the end the next page is asked for: some screens ahead of who scrolls. */
const AHEAD = 60;
/** Rows drawn above and below what is seen, so that a turn of the wheel finds them there. */
const AROUND = 12;
/** Rows on the screen are used again for those that come next; there are never so many at once. */
const POOL = 256;
/** How far each key goes. */
const STEPS: Record<string, number> = {
  j: 1,
  ArrowDown: 1,
  k: -1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

export function Rows<T>(props: RowsProps<T>) {
  const { label, rows, idOf, selected, onOpen, onClose, children, rowHeight = 36, height, onEnd } = props;
  const isMore = props.isMore ?? false;
  const own = useRef<HTMLDivElement>(null);
  const frame = useMergedRef(own, props.frame);
  /** Where the keys are, whether it is open or not. */
  const [visited, setVisited] = useState<string>();
  const here = selected ?? visited;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => own.current,
    estimateSize: () => rowHeight,
    overscan: AROUND,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (isMore && last >= rows.length - AHEAD) onEnd?.();
  }, [isMore, last, rows.length, onEnd]);

  const open = (row: T) => {
    setVisited(idOf(row));
    onOpen(row);
    // Rows come and go as they are seen; the list stays and keeps the keys.
    own.current?.focus({ preventScroll: true });
  };
  const place = () => rows.findIndex((row) => idOf(row) === here);
  const step = (by: number) => {
    const next = Math.min(Math.max(place() + by, 0), rows.length - 1);
    const row = rows[next];
    if (row === undefined) return;
    virtual.scrollToIndex(next);
    if (selected === undefined) setVisited(idOf(row));
    else open(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !mayDo(event.key)) return;
    const by = STEPS[event.key];
    const row = rows[place()];
    if (by !== undefined) step(by);
    else if (event.key === "Enter" && row !== undefined) open(row);
    else if (event.key === "Escape" && onClose !== undefined) onClose();
    else return;
    event.preventDefault();
  };

  return (
    <Box
      ref={frame}
      className={classes.frame}
      style={{ height }}
      role="listbox"
      aria-label={label}
      aria-activedescendant={shown.some((item) => idAt(rows, item.index, idOf) === here) ? here : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div className={classes.all} style={{ height: virtual.getTotalSize() }} role="presentation">
        {shown.map((item) => {
          const row = rows[item.index] as T;
          const id = idOf(row);
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys for all of its rows.
            <div
              key={item.index % POOL}
              id={id}
              role="option"
              tabIndex={-1}
              aria-selected={id === selected}
              aria-setsize={isMore ? -1 : rows.length}
              aria-posinset={item.index + 1}
              data-here={id === here || undefined}
              className={classes.row}
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              onClick={() => open(row)}
            >
              {children(row)}
            </div>
          );
        })}
      </div>
      {isMore && (
        <Text size="xs" className="quiet" ta="center" py={4}>
          Loading more…
        </Text>
      )}
    </Box>
  );
}

/** What the columns are, above the rows. */
export function Head({ children }: { children: ReactNode }) {
  return (
    <div className={classes.head} aria-hidden>
      {children}
    </div>
  );
}

/** The head of a column of exact times. */
export function TimeTitle() {
  const [zone] = useZone();
  return zone === "utc" ? "Time (UTC)" : "Time (local)";
}

function idAt<T>(rows: T[], index: number, idOf: (row: T) => string): string | undefined {
  const row = rows[index];
  return row === undefined ? undefined : idOf(row);
}
