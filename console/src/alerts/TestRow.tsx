// One test on a field: an operator and the value it is compared with.
import { ActionIcon, Group, NumberInput, Select, TagsInput, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import type { Bound, Operator, Sign, Test } from "./pattern";
import { fieldOf, meant, OPERATORS, turned, wordOf } from "./words";

interface TestRowProps {
  path: string[];
  test: Test;
  /** Values that the field has in events seen lately. */
  seen: string[];
  onChange: (test: Test) => void;
  onRemove?: () => void;
}

const OPERATOR_CHOICES = Object.entries(OPERATORS).map(([value, label]) => ({ value, label }));
const NUMBER_OPERATORS: Operator[] = ["is", "not", "numeric", "exists"];

export function TestRow({ path, test, seen, onChange, onRemove }: TestRowProps) {
  const isNumber = fieldOf(path)?.isNumber ?? false;
  const choices = OPERATOR_CHOICES.filter(
    ({ value }) => !isNumber || NUMBER_OPERATORS.includes(value as Operator) || value === test.op,
  );
  return (
    <Group gap="xs" align="flex-start" wrap="wrap">
      <Select
        size="xs"
        w={172}
        aria-label={`Operator for ${path.join(".")}`}
        data={choices}
        value={test.op}
        allowDeselect={false}
        onChange={(op) => op && onChange(turned(test, op as Operator))}
        maxDropdownHeight={320}
      />
      <Operand path={path} test={test} seen={seen} onChange={onChange} />
      {onRemove && (
        <Tooltip label="Remove">
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={2}
            onClick={onRemove}
            aria-label={`Remove: ${path.join(".")} ${OPERATORS[test.op]}`}
          >
            <IconX size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </Group>
  );
}

function Operand({ path, test, seen, onChange }: Omit<TestRowProps, "onRemove">) {
  const label = `${path.join(".")} ${OPERATORS[test.op]}`;
  switch (test.op) {
    case "is":
    case "not": {
      const field = fieldOf(path);
      const isText =
        field !== undefined && !field.isNumber && test.values.every((value) => typeof value === "string");
      return (
        <TagsInput
          size="xs"
          flex="1 1 180px"
          aria-label={label}
          placeholder={test.values.length === 0 ? "Type a value and press Enter" : ""}
          data={[...new Set([...(field?.usual ?? []), ...seen])]}
          value={test.values.map((value) => wordOf(value, isText))}
          acceptValueOnBlur
          onChange={(words) => onChange({ op: test.op, values: words.map((word) => meant(word, isText)) })}
        />
      );
    }
    case "numeric":
      return (
        <Bounds
          label={label}
          bounds={test.bounds}
          onChange={(bounds) => onChange({ op: "numeric", bounds })}
        />
      );
    case "exists":
      return (
        <Select
          size="xs"
          flex="1 1 180px"
          aria-label={label}
          data={[
            { value: "yes", label: "yes, with any value" },
            { value: "no", label: "no, the field is missing" },
          ]}
          value={test.there ? "yes" : "no"}
          allowDeselect={false}
          onChange={(there) => onChange({ op: "exists", there: there === "yes" })}
        />
      );
    default:
      return (
        <TextInput
          size="xs"
          flex="1 1 180px"
          aria-label={label}
          placeholder={PLACEHOLDERS[test.op] ?? "text"}
          value={test.text}
          onChange={(event) => onChange({ ...test, text: event.currentTarget.value })}
        />
      );
  }
}

const PLACEHOLDERS: Partial<Record<Operator, string>> = {
  prefix: "payments.",
  suffix: ".delete",
  wildcard: "payments.*.refund",
  cidr: "10.0.0.0/8",
};

const SIGN_CHOICES = [
  { value: "=", label: "= exactly" },
  { value: ">", label: "> above" },
  { value: ">=", label: "≥ at least" },
  { value: "<", label: "< below" },
  { value: "<=", label: "≤ at most" },
];

/** One end of a range, or both. */
function Bounds({
  label,
  bounds,
  onChange,
}: {
  label: string;
  bounds: Bound[];
  onChange: (bounds: Bound[]) => void;
}) {
  const [first] = bounds;
  const change = (at: number, bound: Partial<Bound>) =>
    onChange(bounds.map((one, place) => (place === at ? { ...one, ...bound } : one)));
  const another = first?.sign.startsWith(">") ? "<=" : ">=";
  return (
    <Group gap={6} flex="1 1 180px">
      {bounds.map((bound, at) => (
        <Group key={at === 0 ? "first" : "second"} gap={6} wrap="nowrap">
          <Select
            size="xs"
            w={112}
            aria-label={`${label}, ${at === 0 ? "first" : "second"} sign`}
            data={SIGN_CHOICES}
            value={bound.sign}
            allowDeselect={false}
            onChange={(sign) => sign && change(at, { sign: sign as Sign })}
          />
          <NumberInput
            size="xs"
            w={96}
            hideControls
            aria-label={`${label}, ${at === 0 ? "first" : "second"} number`}
            value={bound.number}
            onChange={(number) => typeof number === "number" && change(at, { number })}
          />
        </Group>
      ))}
      {bounds.length === 1 && first?.sign !== "=" ? (
        <Tooltip label="Add the other bound">
          <ActionIcon
            variant="subtle"
            onClick={() => onChange([...bounds, { sign: another, number: first?.number ?? 0 }])}
            aria-label="Add the other bound of the range"
          >
            <IconPlus size={14} />
          </ActionIcon>
        </Tooltip>
      ) : (
        bounds.length === 2 && (
          <Tooltip label="Remove this bound">
            <ActionIcon
              variant="subtle"
              color="gray"
              onClick={() => onChange(bounds.slice(0, 1))}
              aria-label="Remove the second bound of the range"
            >
              <IconX size={14} />
            </ActionIcon>
          </Tooltip>
        )
      )}
    </Group>
  );
}
