// The active filters, one chip each; a click removes one.
import { Button, Group, Pill } from "@mantine/core";
import type { Search } from "../search";
import { all, one } from "../search";
import { FIELDS, type Field, NAMES } from "./filter";
import { useValueName } from "./valueName";

interface ActiveFiltersProps {
  search: Search;
  onRemove: (field: Field, value: string) => void;
  onRemoveText: () => void;
  onRemoveAll: () => void;
}

export function ActiveFilters({ search, onRemove, onRemoveText, onRemoveAll }: ActiveFiltersProps) {
  const chips = FIELDS.flatMap((field) => all(search[field]).map((value) => ({ field, value })));
  const text = one(search.q);
  if (chips.length === 0 && !text) return null;
  return (
    <Group gap={6} role="group" aria-label="Active filters">
      {chips.map(({ field, value }) => (
        <Chip
          key={`${field}=${value}`}
          field={field}
          value={value}
          search={search}
          onRemove={() => onRemove(field, value)}
        />
      ))}
      {text && (
        <Pill
          withRemoveButton
          onRemove={onRemoveText}
          removeButtonProps={{ "aria-label": "Remove text filter", "aria-hidden": false, tabIndex: 0 }}
        >
          Contains “{text}”
        </Pill>
      )}
      <Button size="compact-xs" variant="subtle" onClick={onRemoveAll}>
        Clear all
      </Button>
    </Group>
  );
}

interface ChipProps {
  field: Field;
  value: string;
  search: Search;
  onRemove: () => void;
}

function Chip({ field, value, search, onRemove }: ChipProps) {
  const name = useValueName(field, value, search);
  return (
    <Pill
      withRemoveButton
      maw="100%"
      title={value}
      onRemove={onRemove}
      removeButtonProps={{
        "aria-label": `Remove ${NAMES[field]} ${name}`,
        "aria-hidden": false,
        tabIndex: 0,
      }}
    >
      {NAMES[field]}: {name}
    </Pill>
  );
}
