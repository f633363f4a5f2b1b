// Copies a link that shows the same thing tomorrow: with the times as they are now.
import { ActionIcon, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconLink } from "@tabler/icons-react";
import { fixedAddress } from "./TimeRange";

export function Share({ times }: { times: { from: string; to?: string } }) {
  const { copy, copied } = useClipboard({ timeout: 1_500 });
  return (
    <Tooltip label={copied ? "Link copied" : "Copy a link with these exact times"}>
      <ActionIcon
        variant="default"
        aria-label="Copy link"
        color={copied ? "teal" : undefined}
        onClick={() => copy(fixedAddress(window.location.href, times, new Date()))}
      >
        {copied ? <IconCheck size={16} /> : <IconLink size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}
