// How often a rule alerts: after how many matches, how long repeats are suppressed, whether it sends at all.
import { Group, NumberInput, Select, Stack, Switch, TagsInput, TextInput } from "@mantine/core";
import { useContext } from "react";
import { absolute } from "../parts/clock";
import { Panel } from "../parts/Page";
import { Seen } from "./Conditions";
import type { Draft, Editing } from "./draft";
import { useFault } from "./faults";
import { FIELDS } from "./words";

export function Pace({ editing: { draft, change } }: { editing: Editing }) {
  const threshold = object(draft.threshold);
  const suppress = object(draft.suppress);
  const wrongCount = useFault("/threshold/count");
  const snoozed = typeof draft.snoozed_until === "string" ? draft.snoozed_until : undefined;
  return (
    <Panel title="Alert frequency">
      <Stack gap="sm">
        <Switch
          label="Alert only after several matches"
          checked={threshold !== undefined}
          onChange={(event) =>
            change({ threshold: event.currentTarget.checked ? { count: 5, window_s: 600 } : undefined })
          }
        />
        {threshold && (
          <Group align="flex-start" pl="md" gap="xs">
            <NumberInput
              size="xs"
              w={110}
              label="Matches"
              min={2}
              max={10_000}
              value={number(threshold.count)}
              error={wrongCount}
              onChange={(count) =>
                typeof count === "number" && change({ threshold: { ...threshold, count } })
              }
            />
            <Span
              label="Within"
              pointer="/threshold/window_s"
              seconds={number(threshold.window_s)}
              onChange={(window_s) => change({ threshold: { ...threshold, window_s } })}
            />
            <GroupBy
              label="Count separately per"
              pointer="/threshold/group_by"
              of={threshold}
              onChange={(next) => change({ threshold: next })}
            />
          </Group>
        )}
        <Switch
          label="Suppress repeats after an alert"
          description="Suppressed alerts are sent as one summary when the period ends."
          checked={suppress !== undefined}
          onChange={(event) =>
            change({ suppress: event.currentTarget.checked ? { for_s: 3_600 } : undefined })
          }
        />
        {suppress && (
          <Group align="flex-start" pl="md" gap="xs">
            <Span
              label="For"
              pointer="/suppress/for_s"
              seconds={number(suppress.for_s)}
              onChange={(for_s) => change({ suppress: { ...suppress, for_s } })}
            />
            <GroupBy
              label="Separately per"
              pointer="/suppress/group_by"
              of={suppress}
              onChange={(next) => change({ suppress: next })}
            />
          </Group>
        )}
        <Switch
          label="Shadow: record alerts without sending them"
          checked={draft.shadow === true}
          onChange={(event) => change({ shadow: event.currentTarget.checked ? true : undefined })}
        />
        <TextInput
          size="xs"
          type="datetime-local"
          label="Snooze until"
          description="Alerts are recorded but not sent until then. Leave blank for no snooze."
          maw={260}
          value={snoozed ? local(snoozed) : ""}
          error={useFault("/snoozed_until")}
          onChange={(event) => {
            const at = event.currentTarget.value;
            change({ snoozed_until: at === "" ? undefined : new Date(at).toISOString() });
          }}
        />
      </Stack>
    </Panel>
  );
}

const UNITS = [
  { value: "1", label: "seconds" },
  { value: "60", label: "minutes" },
  { value: "3600", label: "hours" },
];

interface SpanProps {
  label: string;
  pointer: string;
  seconds: number;
  onChange: (seconds: number) => void;
}

/** A length of time, in the largest unit in which it is whole. */
function Span({ label, pointer, seconds, onChange }: SpanProps) {
  const unit = seconds > 0 && seconds % 3_600 === 0 ? 3_600 : seconds > 0 && seconds % 60 === 0 ? 60 : 1;
  return (
    <Group gap={4} align="flex-end" wrap="nowrap">
      <NumberInput
        size="xs"
        w={80}
        label={label}
        min={1}
        value={seconds / unit}
        error={useFault(pointer)}
        onChange={(amount) => typeof amount === "number" && onChange(Math.round(amount * unit))}
      />
      <Select
        size="xs"
        w={100}
        aria-label={`${label}, unit`}
        data={UNITS}
        value={String(unit)}
        allowDeselect={false}
        onChange={(next) => onChange((seconds / unit) * Number(next))}
      />
    </Group>
  );
}

interface GroupByProps {
  label: string;
  pointer: string;
  of: Draft;
  onChange: (of: Draft) => void;
}

function GroupBy({ label, pointer, of, onChange }: GroupByProps) {
  const seen = useContext(Seen);
  const { group_by, ...rest } = of;
  return (
    <TagsInput
      size="xs"
      label={label}
      placeholder="agent_id"
      miw={180}
      maxTags={2}
      acceptValueOnBlur
      data={[...new Set([...FIELDS.map((field) => field.name), ...seen.keys()])]}
      value={Array.isArray(group_by) ? group_by.map(String) : []}
      error={useFault(pointer)}
      onChange={(names) => onChange(names.length === 0 ? rest : { ...rest, group_by: names })}
    />
  );
}

function object(value: unknown): Draft | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Draft) : undefined;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function local(moment: string): string {
  const at = new Date(moment);
  return Number.isNaN(at.getTime()) ? "" : absolute(at, "local").replace(" ", "T").slice(0, 16);
}
