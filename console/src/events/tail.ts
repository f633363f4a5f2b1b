// What a live tail shows: bounded, in the order of arrival, and honest about what it leaves out.
import { type AuditEvent, type Row, rowOf } from "./row";

/** More than so many rows are no longer watched but searched, and the list is for that. */
export const TAIL_ROWS_MAX = 1_000;
/** So many rows of one drawing are added; nobody reads more of them in a quarter of a second. */
export const DRAWN_MAX = 50;

export type TailRow = Row & { received_at: string };

export interface Tail {
  /** Last received first. */
  rows: TailRow[];
  /** What came while it was paused, as far as it is kept. */
  waiting: TailRow[];
  /** How many came while it was paused. */
  waitingCount: number;
  /** Of the last drawing, one in so many is shown. */
  oneIn: number;
  /** How many the server left out, because they came faster than we read. */
  skipped: number;
}

export const NO_TAIL: Tail = { rows: [], waiting: [], waitingCount: 0, oneIn: 1, skipped: 0 };

export function tailRowOf(event: AuditEvent): TailRow {
  return { ...rowOf(event), received_at: event.received_at };
}

/** Adds what came since the last drawing: to what is shown, or to what waits. */
export function drawn(tail: Tail, batch: TailRow[], isPaused: boolean): Tail {
  const oneIn = Math.max(1, Math.ceil(batch.length / DRAWN_MAX));
  const sample = batch.filter((_, place) => place % oneIn === 0);
  if (isPaused) {
    const waiting = ordered([...sample, ...tail.waiting]);
    return { ...tail, waiting, waitingCount: tail.waitingCount + batch.length, oneIn };
  }
  return { ...tail, rows: ordered([...sample, ...tail.rows]), oneIn };
}

/** Shows what waited. */
export function resumed(tail: Tail): Tail {
  return { ...tail, rows: ordered([...tail.waiting, ...tail.rows]), waiting: [], waitingCount: 0 };
}

/** Puts what the list has below what the stream told, without showing anything twice. */
export function founded(tail: Tail, listed: TailRow[]): Tail {
  return { ...tail, rows: ordered([...tail.rows, ...listed]) };
}

function ordered(rows: TailRow[]): TailRow[] {
  const once = [...new Map(rows.map((row) => [row.id, row])).values()];
  once.sort((a, b) => compare(b.received_at, a.received_at) || compare(b.id, a.id));
  return once.slice(0, TAIL_ROWS_MAX);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
