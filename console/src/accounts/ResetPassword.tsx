// Sets a new password by link.
import { Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { Form } from "../parts/Form";
import { NewPasswordField, newPasswordFault } from "./fields";
import { ByLink } from "./token";

export default function ResetPassword() {
  const navigate = useNavigate();
  const form = useForm({ initialValues: { password: "" }, validate: { password: newPasswordFault } });
  return (
    <ByLink
      title="Choose a new password"
      links={{ "Request another link": "/forgot-password", "Sign in": "/sign-in" }}
    >
      {(token) => (
        <Form
          form={form}
          send={({ password }) =>
            answer(api.POST("/v1/auth/password-reset/confirm", { body: { token, password } }))
          }
          done={() => navigate({ to: "/sign-in", search: { notice: "password" } })}
          action="Set password"
          isWide
        >
          <Text size="sm" className="quiet">
            The link works once, for 30 minutes. Setting a new password signs you out everywhere.
          </Text>
          <NewPasswordField label="New password" autoFocus {...form.getInputProps("password")} />
        </Form>
      )}
    </ByLink>
  );
}
