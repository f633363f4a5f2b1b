// The state of a rule: enabled, disabled, shadow or snoozed.
import { Group } from "@mantine/core";
import type { Body } from "../api/client";
import { useNow } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";

export function States({ rule }: { rule: Body<"Rule"> }) {
  const now = useNow();
  const isSnoozed = rule.snoozed_until && new Date(rule.snoozed_until) > now;
  return (
    <Group gap={4} display="inline-flex">
      {rule.enabled ? <Mark word="active">enabled</Mark> : <Mark word="disabled">disabled</Mark>}
      {rule.shadow && <Mark word="shadow" />}
      {isSnoozed && (
        <>
          <Mark word="paused">snoozed</Mark>
          <span className="quiet">
            ends <When at={rule.snoozed_until} />
          </span>
        </>
      )}
    </Group>
  );
}
