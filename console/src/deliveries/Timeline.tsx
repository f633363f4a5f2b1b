// The attempts in a timeline, oldest first; the next one, if any, in gray.
import { Box, Timeline as Line, Text } from "@mantine/core";
import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { When } from "../parts/When";
import { Attempt } from "./Attempt";
import { isUnderWay, REASONS } from "./states";

export function Timeline({ delivery }: { delivery: Body<"DeliveryDetail"> }) {
  const { attempt_log: attempts, next_at, state, reason } = delivery;
  const isWaiting = isUnderWay(delivery) || state === "held";
  const missing = delivery.attempts - attempts.length;
  return (
    <Panel title={delivery.attempts === 1 ? "1 attempt" : `${delivery.attempts} attempts`}>
      {missing > 0 && (
        <Text size="xs" className="quiet" mb="sm">
          The oldest {missing} are not shown.
        </Text>
      )}
      {attempts.length === 0 && !isWaiting && (
        <Text size="sm" className="quiet">
          No attempts were made.
        </Text>
      )}
      <Line active={attempts.length - 1} bulletSize={24} lineWidth={2}>
        {attempts.map((attempt) => {
          const isFine = attempt.outcome === "delivered";
          return (
            <Line.Item
              key={attempt.id}
              color={isFine ? "teal.7" : "red.7"}
              bullet={isFine ? <IconCheck size={14} aria-hidden /> : <IconX size={14} aria-hidden />}
            >
              <Attempt delivery={delivery} attempt={attempt} />
            </Line.Item>
          );
        })}
        {isWaiting && (
          <Line.Item bullet={<IconClock size={14} aria-hidden />} lineVariant="dashed">
            <Box className="quiet" data-next>
              <Text size="sm" fw={600}>
                Attempt {delivery.attempts + 1}
              </Text>
              <Text size="sm" component="div">
                {next_at ? (
                  <>
                    due <When at={next_at} /> (<When at={next_at} exact />)
                  </>
                ) : state === "held" ? (
                  "waiting"
                ) : (
                  "due now"
                )}
                {reason && `: ${REASONS[reason] ?? reason}`}
              </Text>
            </Box>
          </Line.Item>
        )}
      </Line>
    </Panel>
  );
}
