// Asks before a rule is saved that sends every event.
import { Text } from "@mantine/core";
import { Confirm } from "../parts/Confirm";
import type { Draft } from "./draft";

/** Whether a rule that is in effect matches every event, but for its exceptions. */
export function matchesEverything({ match, enabled, shadow }: Draft): boolean {
  const isBare = typeof match !== "object" || match === null || Object.keys(match).length === 0;
  return isBare && enabled !== false && shadow !== true;
}

function hasExceptions({ except }: Draft): boolean {
  return Array.isArray(except) && except.length > 0;
}

interface EveryEventProps {
  rule: Draft;
  /** What saving it is called. */
  action: string;
  save: () => void;
  close: () => void;
}

export function EveryEvent({ rule, action, save, close }: EveryEventProps) {
  return (
    <Confirm
      title="Send every event?"
      action={action}
      back="Add conditions"
      act={async () => save()}
      done={close}
      close={close}
    >
      <Text size="sm">
        {hasExceptions(rule)
          ? "This rule has exceptions but no other conditions, so it matches every other event"
          : "This rule has no conditions, so it matches every event"}{" "}
        of your organization, including those that Watchbell records itself. Each becomes an alert and a
        webhook.
      </Text>
    </Confirm>
  );
}
