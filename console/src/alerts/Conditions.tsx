// The conditions of a pattern: all fields must match, and one of the OR groups below them.
import {
  ActionIcon,
  Autocomplete,
  Badge,
  Box,
  Button,
  Code,
  Group,
  Stack,
  Text,
  Tooltip,
} from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { createContext, useContext, useState } from "react";
import { FaultsAt, pointerOf } from "./faults";
import { clash, nameOf, type Pattern, type PatternPart, read, type Test, write } from "./pattern";
import { TestRow } from "./TestRow";
import { FIELDS, fieldOf, wrongField } from "./words";

/** What events seen lately hold, by the dotted names of their fields. */
export const Seen = createContext<Map<string, string[]>>(new Map());

interface PatternFormProps {
  /** Where in the rule it stands, such as `/match`. */
  pointer: string;
  match: unknown;
  onChange: (match: unknown) => void;
}

export function PatternForm({ pointer, match, onChange }: PatternFormProps) {
  const pattern = read(match);
  const change = (next: Partial<Pattern>) => onChange(write({ ...pattern, ...next }));
  const { all, any } = pattern;
  return (
    <Stack gap="xs">
      <Conditions pointer={pointer} all={all} onChange={(all) => change({ all })} />
      {any.map((group, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: groups have nothing but their place.
        <Box key={at} pl="sm" style={{ borderLeft: "3px solid var(--edge)" }}>
          <Group justify="space-between" mb={4}>
            <Text size="sm" fw={600}>
              {at === 0 ? "…and either" : "or"}
            </Text>
            <Tooltip label="Remove this OR group">
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove OR group ${at + 1}`}
                onClick={() => change({ any: any.filter((_, place) => place !== at) })}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          </Group>
          <Conditions
            pointer={`${pointer}${pointerOf("$or", at)}`}
            all={group}
            onChange={(changed) => change({ any: any.map((one, place) => (place === at ? changed : one)) })}
          />
        </Box>
      ))}
      <div>
        <Button
          size="compact-xs"
          variant="subtle"
          leftSection={<IconPlus size={12} />}
          onClick={() => change({ any: any.length === 0 ? [[], []] : [...any, []] })}
        >
          {any.length === 0 ? "Add OR group" : "Add another OR group"}
        </Button>
        <FaultsAt pointer={`${pointer}/$or`} />
      </div>
    </Stack>
  );
}

interface ConditionsProps {
  pointer: string;
  all: PatternPart[];
  onChange: (all: PatternPart[]) => void;
}

function Conditions({ pointer, all, onChange }: ConditionsProps) {
  return (
    <Stack gap="xs">
      {all.map((one, at) => (
        <ConditionCard
          key={nameOf(one.path)}
          pointer={`${pointer}${pointerOf(...one.path)}`}
          asked={one}
          onChange={(changed) => onChange(all.map((other, place) => (place === at ? changed : other)))}
          onRemove={() => onChange(all.filter((_, place) => place !== at))}
        />
      ))}
      <AddCondition taken={all.map((one) => one.path)} onAdd={(path) => onChange([...all, begun(path)])} />
    </Stack>
  );
}

/** A condition that is still to be filled in, with the test that its field usually needs. */
function begun(path: string[]): PatternPart {
  const test: Test = fieldOf(path)?.isNumber
    ? { op: "numeric", bounds: [{ sign: ">=", number: 1_000 }] }
    : { op: "is", values: [] };
  return { path, tests: [test] };
}

interface ConditionCardProps {
  pointer: string;
  asked: PatternPart;
  onChange: (asked: PatternPart) => void;
  onRemove: () => void;
}

function ConditionCard({ pointer, asked, onChange, onRemove }: ConditionCardProps) {
  const name = nameOf(asked.path);
  const seen = useContext(Seen).get(name) ?? [];
  const about = fieldOf(asked.path)?.about;
  return (
    <Box className="surface" p="xs" role="group" aria-label={`Condition on ${name || "the pattern"}`}>
      <Group justify="space-between" mb={6} wrap="nowrap">
        <Text size="sm" fw={600} className="truncate">
          <span className="mono">{name || "match"}</span>
          {about && (
            <Text span size="xs" className="quiet" ml={6} fw={400}>
              {about}
            </Text>
          )}
        </Text>
        <Tooltip label="Remove this condition">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            onClick={onRemove}
            aria-label={`Remove ${name}`}
          >
            <IconTrash size={14} />
          </ActionIcon>
        </Tooltip>
      </Group>
      {"raw" in asked ? (
        <Text size="xs" component="div">
          <Badge size="xs" variant="light" color="gray" mr={6} tt="none">
            edit as JSON
          </Badge>
          The form cannot show this condition. It is kept as written: <Code>{JSON.stringify(asked.raw)}</Code>
        </Text>
      ) : (
        <Tests
          path={asked.path}
          tests={asked.tests}
          seen={seen}
          onChange={(tests) => onChange({ ...asked, tests })}
        />
      )}
      <FaultsAt pointer={pointer} />
    </Box>
  );
}

interface TestsProps {
  path: string[];
  tests: Test[];
  seen: string[];
  onChange: (tests: Test[]) => void;
}

function Tests({ path, tests, seen, onChange }: TestsProps) {
  return (
    <Stack gap={6}>
      {tests.map((test, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tests have nothing but their place.
        <div key={at}>
          {at > 0 && (
            <Text size="xs" className="quiet" mb={4}>
              or
            </Text>
          )}
          <TestRow
            path={path}
            test={test}
            seen={seen}
            onChange={(changed) => onChange(tests.map((one, place) => (place === at ? changed : one)))}
            onRemove={tests.length > 1 ? () => onChange(tests.filter((_, place) => place !== at)) : undefined}
          />
        </div>
      ))}
      <div>
        <Button
          size="compact-xs"
          variant="subtle"
          leftSection={<IconPlus size={12} />}
          onClick={() => onChange([...tests, { op: "prefix", text: "" }])}
        >
          Add OR condition
        </Button>
      </div>
    </Stack>
  );
}

/** Chooses the field of the next condition: one of an event's, or any name inside metadata. */
function AddCondition({ taken, onAdd }: { taken: string[][]; onAdd: (path: string[]) => void }) {
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState<string>();
  const seen = useContext(Seen);
  const known = [
    ...FIELDS.map((field) => field.name),
    ...[...seen.keys()].filter((one) => one.includes(".")),
  ];
  const isFree = (one: string) => !taken.some((path) => clash(path, one.split(".")));
  const add = (chosen: string) => {
    const path = chosen.trim().split(".");
    const fault =
      wrongField(chosen.trim()) ??
      (isFree(chosen.trim()) ? undefined : `There is already a condition on ${chosen}.`);
    setWrong(fault);
    if (fault !== undefined) return;
    onAdd(path);
    setName("");
  };
  return (
    <Autocomplete
      size="xs"
      aria-label="Add a condition on a field"
      placeholder="Add a condition: action, result, metadata.region …"
      leftSection={<IconPlus size={12} />}
      data={known.filter(isFree)}
      value={name}
      error={wrong}
      limit={40}
      onChange={(value) => {
        setName(value);
        setWrong(undefined);
      }}
      onOptionSubmit={(value) => {
        add(value);
        // The field is emptied after the choice was written into it.
        queueMicrotask(() => setName(""));
      }}
      onKeyDown={(event) => {
        if (
          event.key !== "Enter" ||
          name.trim() === "" ||
          known.includes(name.trim()) ||
          event.defaultPrevented
        )
          return;
        event.preventDefault();
        add(name);
      }}
    />
  );
}
