// How a count is shown: as it is, or about how much it is if only the newest events were counted.
import { number } from "../parts/numbers";
import type { Counts } from "./facets";

type Coverage = Pick<Counts, "complete" | "counted" | "estimate">;

const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Such as `1,842`, or `≈ 12,300`. `count` is how many of the counted events are meant. */
export function shown(count: number, { complete, counted, estimate }: Coverage): string {
  if (complete) return number(count);
  return `≈ ${rough.format(counted === 0 ? 0 : (count * estimate) / counted)}`;
}

/** The severities as people read them, the gravest first. */
const GRAVITY = ["critical", "high", "medium", "low", "info"];

/** Values that have an order of their own are shown in it, all others as they come. */
export function inOrder<T extends { value: string }>(field: string, values: T[]): T[] {
  if (field !== "severity") return values;
  const rank = ({ value }: T) => GRAVITY.indexOf(value);
  return [...values].sort((a, b) => rank(a) - rank(b));
}
