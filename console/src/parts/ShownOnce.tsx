// A secret that is shown once. It stays until the user confirms having copied it.
import { Button, Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { type ReactNode, useState } from "react";
import { Snippet } from "./Copy";

interface ShownOnceProps {
  title: string;
  /** What it is, such as `API key`. */
  of: string;
  secret: string;
  /** What to do with it. */
  children: ReactNode;
  close: () => void;
}

export function ShownOnce({ title, of, secret, children, close }: ShownOnceProps) {
  const [isKept, setKept] = useState(false);
  useWindowEvent("beforeunload", (event) => {
    if (!isKept) event.preventDefault();
  });
  return (
    <Modal
      opened
      onClose={close}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack gap="md">
        <Snippet code={secret} of={of} />
        <Text size="sm">{children}</Text>
        <Checkbox
          label={`I have copied the ${of}. It will not be shown again.`}
          checked={isKept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button onClick={close} disabled={!isKept}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
