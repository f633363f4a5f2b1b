// Things to copy: IDs, secrets, commands.
import { ActionIcon, Box, Code, CopyButton, Group, Tabs, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactNode } from "react";

/** A button that copies. `of` says what, for those who do not see it. */
export function Copy({ text, of }: { text: string; of: string }) {
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : `Copy ${of}`}>
          <ActionIcon
            variant="subtle"
            color={copied ? "teal" : "gray"}
            size="sm"
            onClick={copy}
            aria-label={`Copy ${of}`}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An id, which can be copied; `children` may be a link that shows it. */
export function Id({ id, children }: { id: string; children?: ReactNode }) {
  return (
    <Group gap={2} wrap="nowrap" display="inline-flex" maw="100%">
      <span className="mono truncate">{children ?? id}</span>
      <Copy text={id} of="ID" />
    </Group>
  );
}

/** Code to be copied. */
export function Snippet({ code, of = "code" }: { code: string; of?: string }) {
  return (
    <Box pos="relative">
      <Code block pr={40} tabIndex={0} aria-label={of} role="region">
        {code}
      </Code>
      <Box pos="absolute" top={6} right={6} className="surface">
        <Copy text={code} of={of} />
      </Box>
    </Box>
  );
}

/** The same thing in several languages. */
export function Snippets({ of, in: languages }: { of: string; in: Record<string, string> }) {
  const names = Object.keys(languages);
  return (
    <Tabs defaultValue={names[0]} keepMounted={false}>
      <Tabs.List mb="xs">
        {names.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {names.map((name) => (
        <Tabs.Panel key={name} value={name}>
          <Snippet code={languages[name] ?? ""} of={`${of} in ${name}`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
