// One step of setup: its number becomes a check mark when it is done.
import { Box, Group, Stack, Text, ThemeIcon, Title, VisuallyHidden } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

interface StepProps {
  number: number;
  title: string;
  /** What is to be done, or what it is waiting for. */
  lead: ReactNode;
  isDone: boolean;
  /** What comes before is done; until then only the title is shown. */
  isOpen: boolean;
  children: ReactNode;
}

export function Step({ number, title, lead, isDone, isOpen, children }: StepProps) {
  const state = isDone ? "done" : isOpen ? "open" : "later";
  return (
    <Box
      component="section"
      className="surface"
      p="md"
      aria-label={title}
      data-step={number}
      data-done={isDone}
    >
      <Group align="flex-start" wrap="nowrap" gap="md">
        <ThemeIcon
          radius="xl"
          size={30}
          color={isDone ? "teal.8" : isOpen ? undefined : "gray"}
          variant={isOpen || isDone ? "filled" : "light"}
          aria-hidden
        >
          {isDone ? <IconCheck size={18} /> : <span>{number}</span>}
        </ThemeIcon>
        <Stack gap="xs" miw={0} flex={1}>
          <Title order={2} size="h4">
            {title}
            <VisuallyHidden>{` (step ${number}, ${state})`}</VisuallyHidden>
          </Title>
          <Text size="sm" className="quiet" component="div">
            {lead}
          </Text>
          {isOpen && children}
        </Stack>
      </Group>
    </Box>
  );
}
