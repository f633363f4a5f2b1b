// Chooses a fixed time range with the browser's own picker.
import { Button, Group, Popover, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { fromPicker, toPicker, useZone } from "./clock";
import { namedRanges, type Range } from "./TimeRange";

interface FixedRangeProps {
  /** What is looked at now. */
  times: { from: string; to: string | undefined };
  onClose: () => void;
  onChange: (range: Range) => void;
}

export default function FixedRange({ times, onClose, onChange }: FixedRangeProps) {
  const [zone] = useZone();
  const [from, setFrom] = useState(toPicker(new Date(times.from), zone));
  const [to, setTo] = useState(times.to ? toPicker(new Date(times.to), zone) : "");
  const zoneWord = zone === "utc" ? "UTC" : "local";
  const wrong = to !== "" && to <= from ? "Must be after the start" : undefined;
  return (
    <Popover opened onDismiss={onClose} position="bottom-start" trapFocus returnFocus withRoles={false}>
      <Popover.Target>
        <span />
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label="Custom time range">
        <Stack gap="xs">
          <Group gap={6} role="group" aria-label="Days">
            {Object.entries(namedRanges(new Date(), zone)).map(([name, range]) => (
              <Button key={name} size="compact-sm" variant="light" onClick={() => onChange(range)}>
                {name}
              </Button>
            ))}
          </Group>
          <TextInput
            type="datetime-local"
            label={`From (${zoneWord})`}
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
          <TextInput
            type="datetime-local"
            label={`To (${zoneWord}; blank = now)`}
            value={to}
            error={wrong}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <Button
            size="xs"
            disabled={from === "" || wrong !== undefined}
            onClick={() =>
              onChange({
                from: fromPicker(from, zone).toISOString(),
                to: to === "" ? undefined : fromPicker(to, zone).toISOString(),
              })
            }
          >
            Apply
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
