// Accepts an invitation by link: choosing a password creates the account.
import { Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { Form } from "../parts/Form";
import { NewPasswordField, newPasswordFault } from "./fields";
import { ByLink } from "./token";

export default function AcceptInvitation() {
  const navigate = useNavigate();
  const form = useForm({ initialValues: { password: "" }, validate: { password: newPasswordFault } });
  return (
    <ByLink title="Accept the invitation" links={{ "Already have an account? Sign in": "/sign-in" }}>
      {(token) => (
        <Form
          form={form}
          send={({ password }) =>
            answer(api.POST("/v1/auth/accept-invitation", { body: { token, password } }))
          }
          done={() => navigate({ to: "/sign-in", search: { notice: "joined" } })}
          action="Join"
          isWide
        >
          <Text size="sm" className="quiet">
            Choose a password. You sign in with it and the address that was invited.
          </Text>
          <NewPasswordField autoFocus {...form.getInputProps("password")} />
        </Form>
      )}
    </ByLink>
  );
}
