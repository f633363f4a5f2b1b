// How a count is shown: as it is, or about how much it is where not everything was counted to the last one.
import { number, counted as said } from "../parts/numbers";
import type { Counts } from "./facets";

type Coverage = Pick<Counts, "exact" | "counted" | "estimate">;

const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Such as `1,842`, or `≈ 12,300`. `count` is how many of the counted events are meant. */
export function shown(count: number, { exact, counted, estimate }: Coverage): string {
  if (exact) return number(count);
  return `≈ ${rough.format(counted === 0 ? 0 : (count * estimate) / counted)}`;
}

/** All that match, such as `1 event` or `≈ 12,300 events`. */
export function inAll(counts: Coverage, one: string): string {
  return counts.exact ? said(counts.counted, one) : `${shown(counts.counted, counts)} ${one}s`;
}

/** The severities as people read them, the gravest first. */
const GRAVITY = ["critical", "high", "medium", "low", "info"];

/** Values that have an order of their own are shown in it, all others as they come. */
export function inOrder<T extends { value: string }>(field: string, values: T[]): T[] {
  if (field !== "severity") return values;
  const rank = ({ value }: T) => GRAVITY.indexOf(value);
  return [...values].sort((a, b) => rank(a) - rank(b));
}
