// Changes the password of someone who knows the current one.
import { Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { answer, api } from "../api/client";
import { queries } from "../api/queries";
import { Form } from "../parts/Form";
import { Panel } from "../parts/Page";
import { NewPasswordField, newPasswordFault, PasswordField, passwordFault } from "./fields";

export function ChangePassword() {
  const form = useForm({
    initialValues: { current_password: "", password: "" },
    validate: { current_password: passwordFault, password: newPasswordFault },
  });
  return (
    <Panel title="Password">
      <Form
        form={form}
        send={(body) => answer(api.POST("/v1/me/password", { body }))}
        done={() => {
          form.reset();
          queries.invalidateQueries({ queryKey: ["sessions"] });
          notifications.show({
            color: "teal",
            message: "Password changed. Your other sessions were signed out.",
          });
        }}
        action="Change password"
      >
        <Stack gap="sm" maw={480}>
          <PasswordField label="Current password" {...form.getInputProps("current_password")} />
          <NewPasswordField label="New password" {...form.getInputProps("password")} />
        </Stack>
      </Form>
    </Panel>
  );
}
