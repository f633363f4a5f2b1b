// The rule as JSON, kept in sync with the form.
import { Alert, Code, Stack, Text, Textarea } from "@mantine/core";
import { useContext } from "react";
import { useMayManage } from "../api/queries";
import type { Editing } from "./draft";
import { Faults } from "./faults";

export function RuleJson({ editing: { text, fault, type } }: { editing: Editing }) {
  const faults = useContext(Faults);
  const mayManage = useMayManage();
  return (
    <Stack gap="xs">
      <Text size="xs" className="quiet">
        The same rule as in the form. Omitted fields use their defaults. The syntax is EventBridge's:{" "}
        <Code>{'{"result": ["denied"]}'}</Code>, <Code>{'{"prefix": "payments."}'}</Code>,{" "}
        <Code>{'{"anything-but": ["success"]}'}</Code>, <Code>{'{"numeric": [">=", 500]}'}</Code>.
      </Text>
      <Textarea
        aria-label="The rule as JSON"
        classNames={{ input: "mono" }}
        spellCheck={false}
        autosize
        minRows={14}
        maxRows={34}
        value={text}
        readOnly={!mayManage}
        error={fault}
        onChange={(event) => type(event.currentTarget.value)}
      />
      {fault !== undefined && (
        <Alert color="yellow" p="xs">
          This is not valid JSON yet, so the form and the preview still show the previous rule.
        </Alert>
      )}
      {faults.map((one) => (
        <Text size="xs" key={`${one.pointer}${one.detail}`} c="var(--mantine-color-error)">
          <Code>{one.pointer || "/"}</Code> {one.detail}
        </Text>
      ))}
    </Stack>
  );
}
