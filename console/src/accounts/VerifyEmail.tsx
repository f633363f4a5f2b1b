// Behind the link that confirms an address. It takes the password too: anybody may register any address.
import { Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { Form } from "../parts/Form";
import { PasswordField, passwordFault } from "./fields";
import { ByLink } from "./token";

export default function VerifyEmail() {
  const navigate = useNavigate();
  const form = useForm({ initialValues: { password: "" }, validate: { password: passwordFault } });
  return (
    <ByLink title="Confirm your address" links={{ "Register again": "/register", "Sign in": "/sign-in" }}>
      {(token) => (
        <Form
          form={form}
          send={({ password }) => answer(api.POST("/v1/auth/verify-email", { body: { token, password } }))}
          done={() => navigate({ to: "/sign-in", search: { notice: "verified", next: "/setup" } })}
          action="Confirm"
          isWide
        >
          <Text size="sm" className="quiet">
            Enter the password that you chose when you registered. If it was not you who registered, close
            this page: without it there is no account.
          </Text>
          <PasswordField autoFocus {...form.getInputProps("password")} />
        </Form>
      )}
    </ByLink>
  );
}
