// A decision in the list.
import { Box, Group, Text } from "@mantine/core";
import { duration } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import type { Decision } from "./model";

export function DecisionRow({ decision, isNarrow }: { decision: Decision; isNarrow: boolean }) {
  const { result, agent_id, action, resource, metadata } = decision;
  const took = metadata.took_us === undefined ? undefined : duration(metadata.took_us / 1_000);
  if (isNarrow) {
    return (
      <Box miw={0} w="100%">
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Mark word={result} />
          <Text size="xs" className="quiet">
            <When at={decision.occurred_at} />
          </Text>
        </Group>
        <Text size="sm" className="truncate">
          {agent_id} · {action} {resource}
        </Text>
        <Text size="xs" className="truncate quiet">
          {metadata.reason}
        </Text>
      </Box>
    );
  }
  return (
    <>
      <Box w={164} style={{ flexShrink: 0 }} className="quiet">
        <When at={decision.occurred_at} exact />
      </Box>
      <Box w={88} style={{ flexShrink: 0 }}>
        <Mark word={result} />
      </Box>
      <Box w={130} className="truncate" style={{ flexShrink: 0 }}>
        {agent_id}
      </Box>
      <Box w={132} className="truncate mono" style={{ flexShrink: 0 }}>
        {action}
      </Box>
      <Box w={104} className="truncate mono quiet" style={{ flexShrink: 0 }}>
        {resource}
      </Box>
      <Box className="truncate" style={{ flexGrow: 1 }}>
        {metadata.reason}
      </Box>
      <Box maw={160} className="truncate mono quiet" style={{ flexShrink: 0 }}>
        {metadata.policies?.join(", ")}
      </Box>
      {took && (
        <Box w={60} ta="right" className="quiet" style={{ flexShrink: 0 }}>
          {took}
        </Box>
      )}
    </>
  );
}
