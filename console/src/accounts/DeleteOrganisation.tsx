// The end of the organisation: an owner asks for it, and until it comes any owner can cancel.
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { queries, useMe } from "../api/queries";
import { Form } from "../parts/Form";
import { Panel } from "../parts/Page";
import { one } from "../search";
import { PasswordField, passwordFault } from "./fields";

export function DeleteOrganisation() {
  const { user, organisation } = useMe();
  const [address, change] = useAddress();
  const mayAsk = user.role === "owner" && !organisation.deletes_at;
  return (
    <Panel title="Delete the organisation">
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={720}>
          After a few days everything that the organisation has is deleted: its trail, rules, policies, keys
          and secrets, and the accounts of its members. Until then nothing changes, and any owner can cancel.
        </Text>
        {mayAsk ? (
          <Button color="red.9" onClick={() => change({ delete: "organisation" })}>
            Delete…
          </Button>
        ) : (
          <Text size="sm" className="quiet">
            {organisation.deletes_at ? "Its deletion is scheduled already." : "Only an owner can do this."}
          </Text>
        )}
      </Group>
      {mayAsk && one(address.delete) === "organisation" && (
        <Ask name={organisation.name} close={() => change({ delete: undefined })} />
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
        action="Schedule the deletion"
        isGrave
        beside={
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        }
      >
        <Stack gap="sm">
          <Text size="sm">
            Once it is deleted, it cannot be brought back; export what you want to keep before then. Every
            owner is told by mail, if this server sends any, and the security log has it.
          </Text>
          <TextInput
            label="The organisation's name"
            description="To make sure that this is the one you mean."
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
