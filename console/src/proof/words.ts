// What a check found, in plain words.
import type { Report, Verdict } from "@watchbell/sdk/proof";
import { counted, number } from "../parts/numbers";

export const VERDICTS: Record<Verdict, { title: string; color: string }> = {
  proven: { title: "Proven", color: "teal" },
  not_proven: { title: "Not proven", color: "red" },
  cannot_be_checked: { title: "Cannot be checked", color: "yellow" },
};

/** What the verdict means for this file. */
export function meaning({ verdict, first, end, size, counts }: Report): string {
  if (verdict === "not_proven") {
    return "This file does not show what the log committed to. Do not rely on it until you know why.";
  }
  if (verdict === "cannot_be_checked") {
    return "This page could not come to a verdict, so the file proves nothing. That does not mean that something was changed.";
  }
  const isWhole = first === 0 && end === size;
  const what = isWhole
    ? `All ${counted(size, "entry", "entries")} of the log are accounted for`
    : `Entries ${number(first)} to ${number(end - 1)} of the log are accounted for`;
  const shown = counts.withheld === 0 ? "" : `; ${number(counts.withheld)} of them are withheld`;
  return `${what}${shown}. What the file shows is what was recorded: nothing was changed, moved, added or left out.`;
}

/** What the file has, in the order in which people ask. */
export function contents({ counts, policies }: Report): { name: string; count: number }[] {
  const { events, attempts, erased, gone, withheld } = counts;
  const named = [
    { name: "Events", count: events },
    { name: "Delivery attempts", count: attempts },
    { name: "Policy versions", count: policies },
    { name: "Erased", count: erased },
    { name: "Past retention", count: gone },
    { name: "Withheld", count: withheld },
  ];
  return named.filter(({ count }, at) => at < 2 || count > 0);
}

const ALWAYS_OPEN = "Whether everything that happened was recorded in the first place.";
const UNREPLAYED =
  "Whether the decisions follow from the policies in the file. `watchbell trail verify --replay` makes each of them again.";

/** What no verdict of this page is about. */
export function leftOpen({ remarks, policies }: Report): string[] {
  const said = remarks.map(({ code, message }) => REMARKS[code] ?? sentence(message));
  return [...said, ...(policies > 0 ? [UNREPLAYED] : []), ALWAYS_OPEN];
}

/** Those that can be closed in the fields above; the rest are said as the verifier says them. */
const REMARKS: Record<string, string> = {
  key_from_file: "Whose log this is: the key came from the file itself. Give the log's key to close this.",
  no_witness:
    "Whether others are shown the same log: nobody else vouches for it. Give a witness's key to close this.",
};

export function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
