// Deletes the organization: an owner schedules it, and any owner can cancel until then.
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { queries, useMe } from "../api/queries";
import { Form } from "../parts/Form";
import { Panel } from "../parts/Page";
import { one } from "../search";
import { PasswordField, passwordFault } from "./fields";

export function DeleteOrganization() {
  const { user, organisation: organization } = useMe();
  const [address, change] = useAddress();
  const mayAsk = user.role === "owner" && !organization.deletes_at;
  return (
    <Panel title="Delete organization">
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={720}>
          After a few days, everything in the organization is deleted: its trail, rules, policies, keys and
          secrets, and the accounts of its members. Until then nothing changes, and any owner can cancel.
        </Text>
        {mayAsk ? (
          <Button color="red.9" onClick={() => change({ delete: "organization" })}>
            Delete…
          </Button>
        ) : (
          <Text size="sm" className="quiet">
            {organization.deletes_at ? "Deletion is already scheduled." : "Only an owner can do this."}
          </Text>
        )}
      </Group>
      {mayAsk && one(address.delete) === "organization" && (
        <Ask name={organization.name} close={() => change({ delete: undefined })} />
      )}
    </Panel>
  );
}

function Ask({ name, close }: { name: string; close: () => void }) {
  const form = useForm({
    initialValues: { name: "", current_password: "" },
    validate: {
      name: (typed: string) => (typed.trim() === name ? null : `Enter “${name}”.`),
      current_password: passwordFault,
    },
  });
  return (
    <Modal opened onClose={close} title={`Delete “${name}”?`}>
      <Form
        form={form}
        send={(body) => answer(api.POST("/v1/org/deletion", { body }))}
        done={() => {
          queries.invalidateQueries({ queryKey: ["me"] });
          close();
        }}
        action="Schedule deletion"
        isGrave
        cancel={close}
      >
        <Stack gap="sm">
          <Text size="sm">
            A deleted organization cannot be restored, so export what you want to keep before then. Every
            owner is notified by email, if this server sends email, and the security log records it.
          </Text>
          <TextInput
            label="Organization name"
            description="To confirm that this is the right one."
            autoComplete="off"
            required
            {...form.getInputProps("name")}
          />
          <PasswordField label="Your password" {...form.getInputProps("current_password")} />
        </Stack>
      </Form>
    </Modal>
  );
}
