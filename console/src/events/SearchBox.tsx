// Searches events by a query, which offers what the events at hand have.
import type { RefObject } from "react";
import { useSingleKeys } from "../parts/keys";
import { QueryBox } from "../parts/QueryBox";
import type { Counts } from "./facets";

interface SearchBoxProps {
  text: string;
  onChange: (text: string) => void;
  input: RefObject<HTMLInputElement | null>;
  counts: Counts | undefined;
}

export function SearchBox({ text, onChange, input, counts }: SearchBoxProps) {
  const [singleKeys] = useSingleKeys();
  return (
    <QueryBox
      list="events"
      text={text}
      onChange={onChange}
      label="Search events"
      placeholder={`Search: invoice 7, -result:success, metadata.amount:>500${singleKeys === "on" ? " ( / )" : ""}`}
      known={knownValues(counts)}
      input={input}
    />
  );
}

/** The most frequent values of each field. */
export function knownValues(counts: Counts | undefined): Record<string, string[]> {
  const fields = Object.entries(counts?.fields ?? {});
  return Object.fromEntries(fields.map(([field, values]) => [field, values.map(({ value }) => value)]));
}
