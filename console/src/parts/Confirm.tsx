// Asks for confirmation before an action, and says what will happen.
import { Button, Group, Modal, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Trouble } from "./Answered";

interface ConfirmProps {
  title: string;
  /** What will happen, with the name of what it happens to. */
  children: ReactNode;
  action: string;
  /** What leaving it is called; where the action itself cancels something, "Cancel" could mean both. */
  back?: string;
  /** It can be taken back, and so is not red. */
  isMild?: boolean;
  /** Wider, where there is much to see before. */
  isWide?: boolean;
  act: () => Promise<unknown>;
  done: () => void;
  close: () => void;
}

export function Confirm(props: ConfirmProps) {
  const { title, children, action, back = "Cancel", isMild, isWide, act, done, close } = props;
  const acting = useMutation({ mutationFn: act, onSuccess: done });
  return (
    <Modal opened onClose={close} title={title} size={isWide ? "xl" : undefined}>
      <Stack gap="md">
        <div>{children}</div>
        {acting.isError && <Trouble error={acting.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {back}
          </Button>
          <Button
            color={isMild ? undefined : "red.9"}
            loading={acting.isPending}
            onClick={() => acting.mutate()}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
