// Confirms an address by link. It also asks for the password, because anyone can register any address.
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
            Enter the password you chose when you registered. If you did not register, close this page: no
            account is created without the password.
          </Text>
          <PasswordField autoFocus {...form.getInputProps("password")} />
        </Form>
      )}
    </ByLink>
  );
}
