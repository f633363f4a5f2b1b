// Registers an organization and its owner. If the server sends no email, the owner is signed in right away.
import { Alert, Anchor, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { about } from "../api/queries";
import { Snippet } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Card } from "../shell/Outside";
import { EmailField, emailFault, NewPasswordField, newPasswordFault } from "./fields";
import { signIn } from "./login";

const CREATE_ORG = `watchbell admin create-org \\
  --config watchbell.toml \\
  --name Acme --email you@example.com`;
const SIGN_IN = { "Already have an account? Sign in": "/sign-in" };

export default function Register() {
  const navigate = useNavigate();
  const server = useQuery(about);
  const [isTaken, setTaken] = useState<string>();
  const form = useForm({
    initialValues: { organisation: "", email: "", password: "" },
    validate: {
      organisation: (name: string) => (name.trim() === "" ? "Enter a name." : null),
      email: emailFault,
      password: newPasswordFault,
    },
  });
  if (server.data?.registration === "closed") return <AskForAnInvitation />;
  if (isTaken !== undefined) return <ReadYourMail email={isTaken} />;
  return (
    <Card title="Register an organization" links={SIGN_IN}>
      <Form
        form={form}
        send={(values) => register(values, server.data?.sends_mail ?? true)}
        done={(isInside, values) => (isInside ? navigate({ to: "/setup" }) : setTaken(values.email))}
        action="Register"
        isWide
      >
        <Text size="sm" className="quiet" data-mail={server.data?.sends_mail}>
          {server.data?.sends_mail === false
            ? "This server does not send email, so you are signed in right away."
            : "We email you a link to confirm your address."}
        </Text>
        <TextInput
          label="Organization"
          description="The name of your company or team, for example. You can change it later."
          autoComplete="organization"
          required
          autoFocus
          {...form.getInputProps("organisation")}
        />
        <EmailField {...form.getInputProps("email")} />
        <NewPasswordField {...form.getInputProps("password")} />
      </Form>
    </Card>
  );
}

/** Whether one is inside now. */
async function register(values: Body<"NewRegistration">, sendsMail: boolean): Promise<boolean> {
  const { email, password } = values;
  await answer(api.POST("/v1/auth/register", { body: { ...values, email: email.trim() } }));
  if (sendsMail) return false;
  try {
    await signIn({ email, password });
  } catch (error) {
    // The server does not say whether an address was free; a login that is refused does.
    if (!(error instanceof Problem && error.isUnauthenticated)) throw error;
    throw new Error(
      "This address already has an account with a different password. Sign in, or use another address.",
    );
  }
  return true;
}

function AskForAnInvitation() {
  return (
    <Card title="Registration is closed" links={SIGN_IN}>
      <Text size="sm" mb="sm">
        You can join only by invitation: ask an admin of your organization for one. The operator of this
        server creates new organizations:
      </Text>
      <Snippet code={CREATE_ORG} of="command" />
    </Card>
  );
}

function ReadYourMail({ email }: { email: string }) {
  return (
    <Card title="Check your email" links={{ "Back to sign-in": "/sign-in" }}>
      <Alert color="teal" role="status">
        <Text size="sm">
          An email is on its way to <strong>{email}</strong>. Open its link within 24 hours and enter the
          password you just chose.
        </Text>
      </Alert>
      <Text size="sm" mt="sm" className="quiet">
        No email? Check your spam folder, or{" "}
        <Anchor component={Link} to="/register" reloadDocument size="sm">
          register again
        </Anchor>
        . If the address already has an account, the email says so.
      </Text>
    </Card>
  );
}
