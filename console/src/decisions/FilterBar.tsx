// Filters decisions by result, agent, action and text, with a count for each value.
import { Chip, Group, MultiSelect, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import type { Body } from "../api/client";
import { type Filters, RESULTS } from "./model";

interface FilterBarProps {
  filters: Filters;
  /** How many there are of what, once it is known. */
  facets: Body<"Facets"> | undefined;
  onChange: (next: Partial<Filters>) => void;
}

type Counted = { value: string; count: number }[];

export function FilterBar({ filters, facets, onChange }: FilterBarProps) {
  const countOf = (result: string) => facets?.fields.result.find(({ value }) => value === result)?.count;
  return (
    <Group gap="sm" mb="sm" align="center">
      <Chip.Group multiple value={filters.result} onChange={(result) => onChange({ result })}>
        <Group gap={6} role="group" aria-label="Result">
          {RESULTS.map((result) => (
            <Chip key={result} value={result} size="xs" variant="light">
              {result} {countOf(result)?.toLocaleString("en")}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <Choice
        label="Agent"
        chosen={filters.agent_id}
        counted={facets?.fields.agent_id ?? []}
        onChange={(agent_id) => onChange({ agent_id })}
      />
      <Choice
        label="Action"
        chosen={filters.action}
        counted={facets?.fields.action ?? []}
        onChange={(action) => onChange({ action })}
      />
      <Words text={filters.q} onChange={(q) => onChange({ q })} />
    </Group>
  );
}

interface ChoiceProps {
  label: string;
  chosen: string[];
  counted: Counted;
  onChange: (values: string[]) => void;
}

function Choice({ label, chosen, counted, onChange }: ChoiceProps) {
  const rare = chosen.filter((value) => !counted.some((one) => one.value === value));
  const data = [
    ...counted.map(({ value, count }) => ({ value, label: `${value} (${count.toLocaleString("en")})` })),
    ...rare.map((value) => ({ value, label: value })),
  ];
  return (
    <MultiSelect
      size="xs"
      w={220}
      aria-label={label}
      placeholder={chosen.length === 0 ? `Any ${label.toLowerCase()}` : undefined}
      data={data}
      value={chosen}
      onChange={onChange}
      searchable
      clearable
      hidePickedOptions
      nothingFoundMessage="Not among the most frequent"
    />
  );
}

/** Searched for when Enter is pressed or the field is left: looking through texts is work. */
function Words({ text, onChange }: { text: string | undefined; onChange: (q: string | undefined) => void }) {
  const [typed, setTyped] = useState(text ?? "");
  useEffect(() => setTyped(text ?? ""), [text]);
  const done = () => typed !== (text ?? "") && onChange(typed === "" ? undefined : typed);
  return (
    <TextInput
      size="xs"
      w={220}
      aria-label="Contains text"
      placeholder="Contains text…"
      leftSection={<IconSearch size={14} />}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={done}
      onKeyDown={(event) => event.key === "Enter" && done()}
    />
  );
}
