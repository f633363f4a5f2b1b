// Asks before a secret is promoted or dropped, and says what will happen.
import { Select, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Confirm } from "../parts/Confirm";

interface StepProps {
  secret: Body<"SecretBody">;
  isOpen: boolean;
  onClose: () => void;
}

/** How long the secret before goes on signing, in seconds. */
const OVERLAPS = [
  { value: "86400", label: "for a day" },
  { value: "3600", label: "for an hour" },
  { value: "604800", label: "for a week" },
  { value: "0", label: "not at all (it has leaked)" },
];

export function PromoteSecret({ secret: { id }, isOpen, onClose }: StepProps) {
  const [overlap, setOverlap] = useState("86400");
  if (!isOpen) return null;
  return (
    <Confirm
      title="Promote this secret?"
      action="Promote secret"
      isMild
      act={() => {
        const body = { overlap_s: Number(overlap) };
        return answer(api.POST("/v1/signing-secrets/{id}/promote", { params: { path: { id } }, body }));
      }}
      done={() => done("Promoted", "Webhooks are signed with it from now on.", onClose)}
      close={onClose}
    >
      <Stack>
        <Text size="sm">
          From now on <span className="mono">{id}</span> creates the signature that receivers check. Receivers
          that do not have it yet will reject deliveries once the previous secret expires.
        </Text>
        <Select
          label="Keep signing with the previous secret"
          data={OVERLAPS}
          value={overlap}
          allowDeselect={false}
          onChange={(value) => setOverlap(value ?? "86400")}
        />
      </Stack>
    </Confirm>
  );
}

export function DropSecret({ secret: { id, state }, isOpen, onClose }: StepProps) {
  if (!isOpen) return null;
  return (
    <Confirm
      title="Drop this secret?"
      action="Drop secret"
      act={() => answer(api.DELETE("/v1/signing-secrets/{id}", { params: { path: { id } } }))}
      done={() => done("Dropped", "It no longer signs anything.", onClose)}
      close={onClose}
    >
      <Text size="sm">
        <span className="mono">{id}</span> stops signing immediately and permanently.{" "}
        {state === "previous"
          ? "Receivers that have only this secret will reject deliveries."
          : "Nothing depends on it yet, because it was never promoted."}
      </Text>
    </Confirm>
  );
}

function done(title: string, message: string, close: () => void) {
  close();
  queries.invalidateQueries({ queryKey: ["signing-secrets"] });
  notifications.show({ title, message, color: "teal" });
}
