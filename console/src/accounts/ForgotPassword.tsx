// Requests a link to choose a new password. The response is the same for every address.
import { Alert, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { about } from "../api/queries";
import { Snippet } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Card } from "../shell/Outside";
import { EmailField, emailFault } from "./fields";

const RESET_LINK = `watchbell admin reset-link \\
  --config watchbell.toml \\
  --email you@example.com`;
const LINKS = { "Back to sign-in": "/sign-in" };

export default function ForgotPassword() {
  const server = useQuery(about);
  if (server.data?.sends_mail === false) return <AskAnOperator />;
  return (
    <Card title="Forgot your password?" links={LINKS}>
      <ByMail />
    </Card>
  );
}

function ByMail() {
  const [message, setMessage] = useState<string>();
  const form = useForm({ initialValues: { email: "" }, validate: { email: emailFault } });
  if (message !== undefined) {
    return (
      <Alert color="teal" role="status">
        {message} The link works for 30 minutes.
      </Alert>
    );
  }
  return (
    <Form
      form={form}
      send={({ email }) => answer(api.POST("/v1/auth/password-reset", { body: { email: email.trim() } }))}
      done={(taken) => setMessage(taken.message)}
      action="Send me a link"
      isWide
    >
      <Text size="sm" className="quiet">
        We email you a link to choose a new password. For security, the response is the same whether or not
        the address has an account.
      </Text>
      <EmailField autoFocus {...form.getInputProps("email")} />
    </Form>
  );
}

function AskAnOperator() {
  return (
    <Card title="Forgot your password?" links={LINKS}>
      <Text size="sm" mb="sm">
        This server does not send email. Its operator can create a link for you to choose a new password:
      </Text>
      <Snippet code={RESET_LINK} of="command" />
    </Card>
  );
}
