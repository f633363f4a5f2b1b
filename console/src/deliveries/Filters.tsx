// Filters for the list of deliveries; a delivery must match all of them.
import { Button, Group, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useAddress } from "../address";
import { allRules } from "../alerts/all";
import { QueryBox } from "../parts/QueryBox";
import { one } from "../search";
import { FILTERS } from "./filter";
import { CAUSES, REASONS } from "./states";

export function Filters() {
  const [search, change] = useAddress();
  const rules = useQuery(allRules);
  const rule = one(search.rule_id);
  const known = (rules.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  // A rule that was deleted has deliveries still.
  const choices =
    rule === undefined || known.some(({ value }) => value === rule)
      ? known
      : [...known, { value: rule, label: rule }];
  const isNarrowed = FILTERS.some((name) => one(search[name]) !== undefined);
  return (
    <Group gap="xs">
      <Select
        size="xs"
        w={180}
        aria-label="Rule"
        placeholder="Any rule"
        searchable
        clearable
        data={choices}
        value={rule ?? null}
        onChange={(value) => change({ rule_id: value ?? undefined })}
      />
      <Choice name="cause" label="Cause" words={CAUSES} />
      <Choice name="reason" label="Reason" words={REASONS} />
      <Typed name="event_type" label="Event type" />
      <Typed name="url" label="Endpoint URL" w={200} />
      <Typed name="event_id" label="Event ID" />
      <QueryBox
        list="deliveries"
        text={one(search.filter) ?? ""}
        onChange={(filter) => change({ filter })}
        label="Search deliveries"
        placeholder="Search: -reason:breaker, attempts:>3, url:*example.com*"
      />
      {isNarrowed && (
        <Button
          size="compact-xs"
          variant="subtle"
          onClick={() => change(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}

function Choice({ name, label, words }: { name: string; label: string; words: Record<string, string> }) {
  const [search, change] = useAddress();
  return (
    <Select
      size="xs"
      w={150}
      aria-label={label}
      placeholder={`Any ${label.toLowerCase()}`}
      clearable
      data={Object.entries(words).map(([value, about]) => ({ value, label: about }))}
      comboboxProps={{ width: "max-content", position: "bottom-start" }}
      value={one(search[name]) ?? null}
      onChange={(value) => change({ [name]: value ?? undefined })}
    />
  );
}

/** Taken over when it is finished, by Enter or by going on. */
function Typed({ name, label, w = 130 }: { name: string; label: string; w?: number }) {
  const [search, change] = useAddress();
  const set = one(search[name]) ?? "";
  const [text, setText] = useState(set);
  useEffect(() => setText(set), [set]);
  const take = () => text.trim() !== set && change({ [name]: text.trim() || undefined });
  return (
    <TextInput
      size="xs"
      w={w}
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={take}
      onKeyDown={(event) => event.key === "Enter" && take()}
    />
  );
}
