// What an auditor trusts already: each field closes a way to be deceived, and none is needed.
import { Stack, Text, Textarea } from "@mantine/core";
import type { Faults, Trust } from "./trust";

const FIELDS: { name: keyof Trust; label: string; about: string; rows: number; example: string }[] = [
  {
    name: "keys",
    label: "Log key",
    about:
      "Ask the log's owner for it, not whoever gave you the file. Without it, the file's own key is used, and the check does not show whose log it is.",
    rows: 2,
    example: "watchbell.example.com/org_01…+1a2b3c4d+AQ…",
  },
  {
    name: "witnesses",
    label: "Witness key",
    about:
      "The key of a witness that the log's owner does not control. Without it, the owner could show you another log than everybody else.",
    rows: 2,
    example: "witness.example/w1+5e6f7a8b+BA…",
  },
  {
    name: "since",
    label: "Checkpoint you kept",
    about:
      "From an earlier check, all of its lines. Without it, a log that was rolled back or started over since then goes unnoticed.",
    rows: 5,
    example:
      "watchbell.example.com/org_01…\n1234\n(root hash)\n\n— watchbell.example.com/org_01… (signature)",
  },
];

interface TrustFieldsProps {
  trust: Trust;
  faults: Faults;
  onChange: (trust: Trust) => void;
}

export function TrustFields({ trust, faults, onChange }: TrustFieldsProps) {
  return (
    <Stack gap="md">
      <Text size="sm" className="quiet">
        All of this is optional. Give keys one to a line.
      </Text>
      {FIELDS.map(({ name, label, about, rows, example }) => (
        <Textarea
          key={name}
          label={label}
          description={about}
          placeholder={example}
          rows={rows}
          value={trust[name]}
          error={faults[name]}
          onChange={({ currentTarget }) => onChange({ ...trust, [name]: currentTarget.value })}
          spellCheck={false}
          autoComplete="off"
          classNames={{ input: "mono" }}
        />
      ))}
    </Stack>
  );
}
