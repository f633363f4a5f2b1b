// The frame of every screen: its title, a line about what it is for, and its actions.
import { Box, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { nameWindow } from "./windowTitle";

interface PageProps {
  title: ReactNode;
  /** The title of the window; needed if `title` is not plain text. */
  windowTitle?: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, windowTitle, lead, actions, children }: PageProps) {
  const name = windowTitle ?? (typeof title === "string" ? title : "");
  useEffect(() => nameWindow(name), [name]);
  return (
    <Stack gap="md" maw={1600} mx="auto">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box miw={0} flex="1 1 300px">
          <Title order={1} size="h2">
            {title}
          </Title>
          {lead && (
            <Text className="quiet" size="sm" component="div">
              {lead}
            </Text>
          )}
        </Box>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

/** A part of a screen on a surface of its own. */
export function Panel({
  title,
  actions,
  children,
}: {
  title?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Box component="section" className="surface" p="md" aria-label={title} miw={0}>
      {(title || actions) && (
        <Group justify="space-between" mb="sm" gap="xs">
          {title && (
            <Title order={2} size="h5">
              {title}
            </Title>
          )}
          {actions}
        </Group>
      )}
      {children}
    </Box>
  );
}
