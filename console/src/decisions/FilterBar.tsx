// Filters decisions by result, agent and action, with a count for each value, and by a query.
import { Chip, Group, MultiSelect, Pill } from "@mantine/core";
import type { Body } from "../api/client";
import { shown } from "../events/estimate";
import { knownValues } from "../events/SearchBox";
import { QueryBox } from "../parts/QueryBox";
import { type Filters, RESULTS } from "./model";

interface FilterBarProps {
  filters: Filters;
  /** How many there are of what, once it is known. */
  facets: Body<"Facets"> | undefined;
  onChange: (next: Partial<Filters>) => void;
}

export function FilterBar({ filters, facets, onChange }: FilterBarProps) {
  const countOf = (result: string) => {
    const found = facets?.fields.result.find(({ value }) => value === result);
    return facets && found && shown(found.count, facets);
  };
  return (
    <Group gap="sm" mb="sm" align="center">
      <Chip.Group multiple value={filters.result} onChange={(result) => onChange({ result })}>
        <Group gap={6} role="group" aria-label="Result">
          {RESULTS.map((result) => (
            <Chip key={result} value={result} size="xs" variant="light">
              {result} {countOf(result)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <Choice
        label="Agent"
        chosen={filters.agent_id}
        field="agent_id"
        facets={facets}
        onChange={(agent_id) => onChange({ agent_id })}
      />
      <Choice
        label="Action"
        chosen={filters.action}
        field="action"
        facets={facets}
        onChange={(action) => onChange({ action })}
      />
      {filters.q && (
        <Pill
          withRemoveButton
          onRemove={() => onChange({ q: undefined })}
          removeButtonProps={{ "aria-label": "Remove text filter", "aria-hidden": false, tabIndex: 0 }}
        >
          Contains “{filters.q}”
        </Pill>
      )}
      <QueryBox
        list="decisions"
        text={filters.filter ?? ""}
        onChange={(filter) => onChange({ filter: filter === "" ? undefined : filter })}
        label="Search decisions"
        placeholder="Search: refund, decision:deny, policy:refund-limit, took_us:>500"
        known={knownValues(facets)}
      />
    </Group>
  );
}

interface ChoiceProps {
  label: string;
  chosen: string[];
  field: "agent_id" | "action";
  facets: Body<"Facets"> | undefined;
  onChange: (values: string[]) => void;
}

function Choice({ label, chosen, field, facets, onChange }: ChoiceProps) {
  const counted = facets?.fields[field] ?? [];
  const rare = chosen.filter((value) => !counted.some((one) => one.value === value));
  const data = [
    ...counted.map(({ value, count }) => ({
      value,
      label: facets ? `${value} (${shown(count, facets)})` : value,
    })),
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
