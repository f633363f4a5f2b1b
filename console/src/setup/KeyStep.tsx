// Step 1: an API key, shown once.
import { Alert, Button, Group, List, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { AGENT_SCOPES, SCOPES } from "../accounts/scopes";
import { answer, api, type Body } from "../api/client";
import { useMayManage } from "../api/queries";
import { Snippet } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Step } from "./Step";

const QUERY_KEY = ["setup", "key"];

/** The key that was made here; it lives in this tab's memory, and nowhere else. */
export function useSetupKey(): [Body<"MadeKey"> | undefined, (key: Body<"MadeKey"> | null) => void] {
  const client = useQueryClient();
  const { data } = useQuery<Body<"MadeKey"> | null>({
    queryKey: QUERY_KEY,
    queryFn: () => client.getQueryData<Body<"MadeKey">>(QUERY_KEY) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return [data ?? undefined, (key) => client.setQueryData(QUERY_KEY, key)];
}

export function KeyStep() {
  const [key, setKey] = useSetupKey();
  return (
    <Step
      number={1}
      title="Create a key for your agent"
      lead="Agents authenticate with an API key."
      isDone={key !== undefined}
      isOpen
    >
      {key === undefined ? (
        <NewKey onMade={setKey} />
      ) : (
        <Made text={key.api_key} onAnother={() => setKey(null)} />
      )}
    </Step>
  );
}

function NewKey({ onMade }: { onMade: (key: Body<"MadeKey">) => void }) {
  const mayManage = useMayManage();
  const form = useForm({
    initialValues: { name: "first agent" },
    validate: { name: (name: string) => (name.trim() === "" ? "Enter a name." : null) },
  });
  return (
    <Form
      form={form}
      send={({ name }) => answer(api.POST("/v1/api-keys", { body: { name, scopes: AGENT_SCOPES } }))}
      done={onMade}
      action="Create key"
      disabled={!mayManage}
    >
      <TextInput
        label="Name"
        description="Which agent uses this key."
        required
        maw={360}
        {...form.getInputProps("name")}
      />
      <Text size="sm">The key can do only this:</Text>
      <List size="sm">
        {AGENT_SCOPES.map((scope) => (
          <List.Item key={scope}>
            <span className="mono">{scope}</span>: {SCOPES[scope]}
          </List.Item>
        ))}
      </List>
      <Text size="sm" className="quiet">
        {mayManage
          ? "Watchbell stores only a fingerprint of each key, so it cannot show an existing key again. Create another one; you can revoke it at any time."
          : "You can view everything, but only admins and owners can create keys. Ask one of them."}
      </Text>
    </Form>
  );
}

function Made({ text, onAnother }: { text: string; onAnother: () => void }) {
  return (
    <>
      <Snippet code={text} of="API key" />
      <Alert color="yellow" title="Copy it now">
        <Text size="sm">
          The key is shown only once and disappears when you reload or sign out. Treat it like a password.
        </Text>
      </Alert>
      <Group>
        <Button size="compact-sm" variant="subtle" onClick={onAnother}>
          Create another key
        </Button>
      </Group>
    </>
  );
}
