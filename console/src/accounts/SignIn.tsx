// The sign-in page.
import { Alert } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { about } from "../api/queries";
import { Form } from "../parts/Form";
import { one } from "../search";
import { Card } from "../shell/Outside";
import { ownPath } from "./address";
import { EmailField, emailFault, PasswordField, passwordFault } from "./fields";
import { signIn } from "./login";

/** What brought somebody here. */
const NOTICES: Record<string, string> = {
  verified: "Your address is confirmed and your account is ready. Sign in to continue.",
  joined: "You have joined the organization. Sign in to continue.",
  password: "Your new password is set, and all sessions were signed out. Sign in with the new password.",
};

const REGISTER = { "Register an organization": "/register" };
const FORGOTTEN = { "Forgot your password?": "/forgot-password" };
/** For an auditor, who has a file and no account. */
const VERIFY = { "Verify an export": "/verify" };

export default function SignIn() {
  const server = useQuery(about);
  const search = useSearch({ strict: false });
  const router = useRouter();
  const form = useForm({
    initialValues: { email: "", password: "" },
    validate: { email: emailFault, password: passwordFault },
  });
  const notice = NOTICES[one(search.notice) ?? ""];
  return (
    <Card
      title="Sign in"
      links={{
        ...(server.data?.registration === "closed" ? {} : REGISTER),
        ...FORGOTTEN,
        ...VERIFY,
      }}
    >
      {notice && (
        <Alert color="teal" mb="md" role="status">
          {notice}
        </Alert>
      )}
      <Form
        form={form}
        send={signIn}
        done={() => router.history.push(ownPath(one(search.next), window.location.origin))}
        action="Sign in"
        isWide
      >
        <EmailField autoFocus {...form.getInputProps("email")} />
        <PasswordField {...form.getInputProps("password")} />
      </Form>
    </Card>
  );
}
