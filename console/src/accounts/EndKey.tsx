// The two ways to end a key: rotate it, or revoke it.
import { Modal, NativeSelect, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { answer, api, type Body } from "../api/client";
import { Confirm } from "../parts/Confirm";
import { Form } from "../parts/Form";
import { type Key, OVERLAPS } from "./keys";

/** A day, as the server has it: time to change it everywhere. */
const OVERLAP_S = "86400";

interface RotateKeyProps {
  old: Key;
  close: () => void;
  onMade: (key: Body<"MadeKey">) => void;
}

export function RotateKey({ old, close, onMade }: RotateKeyProps) {
  const form = useForm({ initialValues: { overlap_s: OVERLAP_S } });
  return (
    <Modal opened onClose={close} title={`Rotate “${old.name}”`}>
      <Form
        form={form}
        send={({ overlap_s }) => {
          const body = { overlap_s: Number(overlap_s) };
          return answer(api.POST("/v1/api-keys/{id}/rotate", { params: { path: { id: old.id } }, body }));
        }}
        done={onMade}
        action="Rotate key"
        cancel={close}
      >
        <Text size="sm">
          Creates a new key with the same name, scopes, agents and expiry. The old key keeps working for a
          while, so you can switch agents over one by one. A key can be rotated only once; after that, rotate
          its successor.
        </Text>
        <NativeSelect
          label="How long the old key works"
          data={OVERLAPS}
          {...form.getInputProps("overlap_s")}
        />
      </Form>
    </Modal>
  );
}

export function RevokeKey({ old, close, onRevoked }: { old: Key; close: () => void; onRevoked: () => void }) {
  return (
    <Confirm
      title={`Revoke “${old.name}”?`}
      action="Revoke key"
      act={() => answer(api.DELETE("/v1/api-keys/{id}", { params: { path: { id: old.id } } }))}
      done={onRevoked}
      close={close}
    >
      <Text size="sm">
        Requests with the key ending in <span className="mono">{old.hint}</span> are rejected within a second,
        on every node. This cannot be undone. To replace a key without downtime, rotate it instead.
      </Text>
    </Confirm>
  );
}
