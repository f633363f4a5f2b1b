// The organization's name.
import { Group, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { answer, api } from "../api/client";
import { queries, useMayManage, useMe } from "../api/queries";
import { Id } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Panel } from "../parts/Page";

export function Rename() {
  const { organisation: organization } = useMe();
  const mayManage = useMayManage();
  const form = useForm({
    initialValues: { name: organization.name },
    validate: { name: (name: string) => (name.trim() === "" ? "Enter a name." : null) },
  });
  return (
    <Panel title="Organization" actions={<Id id={organization.id} />}>
      <Form
        form={form}
        send={(body) => answer(api.PATCH("/v1/org", { body }))}
        done={({ name }) => {
          form.setValues({ name });
          queries.invalidateQueries({ queryKey: ["me"] });
          notifications.show({ color: "teal", message: `The organization is now called “${name}”.` });
        }}
        action="Rename"
        disabled={!mayManage || form.values.name.trim() === organization.name}
      >
        <Group>
          <TextInput
            label="Name"
            description={mayManage ? undefined : "Only admins and owners can rename it."}
            disabled={!mayManage}
            maw={480}
            flex={1}
            {...form.getInputProps("name")}
          />
        </Group>
      </Form>
    </Panel>
  );
}
