// Draws lag as a bar on a logarithmic scale.

/** From here on a bar is full: this many messages take a healthy node minutes to apply. */
const FULL = 100_000;

/** Percent of a bar, by the number of digits rather than the number. */
export function barOf(behind: number): number {
  if (behind <= 0) return 0;
  return Math.min(100, (Math.log10(behind + 1) / Math.log10(FULL + 1)) * 100);
}

export function sumBehind(logs: { behind: number }[]): number {
  return logs.reduce((sum, { behind }) => sum + behind, 0);
}

interface Partition {
  log: string;
  partition: number;
  behind: number;
}

/** One log: how far it is behind, and which of its partitions are. */
export interface Log {
  name: string;
  behind: number;
  late: Partition[];
}

/** The logs by name; of their partitions only those that are behind, the latest first. */
export function logsOf(partitions: Partition[]): Log[] {
  const names = [...new Set(partitions.map(({ log }) => log))].sort();
  return names.map((name) => {
    const all = partitions.filter(({ log }) => log === name);
    const late = all.filter(({ behind }) => behind > 0).sort((a, b) => b.behind - a.behind);
    return { name, behind: sumBehind(all), late };
  });
}

/** The days of one table, newest first, and how much they are together. */
export interface Table<Day> {
  name: string;
  days: Day[];
  bytes: number;
  rows: number;
}

/** `audit_events_d20772` is a day of `audit_events`. */
export function tablesOf<Day extends { table: string; day: string; bytes: number; rows: number | null }>(
  days: Day[],
): Table<Day>[] {
  const tables = new Map<string, Table<Day>>();
  for (const day of days) {
    const name = day.table.replace(/_d?\d+$/, "");
    const table = tables.get(name) ?? { name, days: [], bytes: 0, rows: 0 };
    table.days.push(day);
    table.bytes += day.bytes;
    table.rows += day.rows ?? 0;
    tables.set(name, table);
  }
  for (const table of tables.values()) table.days.sort((a, b) => b.day.localeCompare(a.day));
  return [...tables.values()];
}
