// How far a check is.
import { Progress as Bar, Button, Group, Stack, Text } from "@mantine/core";
import { bytes } from "../parts/numbers";
import { Panel } from "../parts/Page";

interface ProgressProps {
  file: File;
  bytesRead: number;
  onCancel: () => void;
}

export function Progress({ file, bytesRead, onCancel }: ProgressProps) {
  const percent = file.size === 0 ? 100 : Math.floor((100 * bytesRead) / file.size);
  return (
    <Panel>
      <Stack gap="xs" data-verifying>
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
            Verifying {file.name}
          </Text>
          <Button size="compact-sm" variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
        <Bar.Root size="lg">
          <Bar.Section value={percent} aria-label="Verification progress" />
        </Bar.Root>
        <Text size="xs" className="quiet">
          {bytes(bytesRead)} of {bytes(file.size)}
        </Text>
      </Stack>
    </Panel>
  );
}
