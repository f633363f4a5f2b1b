// Step 1: the API key that the agent uses: a new one, shown once, or one that it has.
import { Alert, Button, Group, List, Select, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { AGENT_SCOPES, SCOPES } from "../accounts/scopes";
import { answer, api, type Body } from "../api/client";
import { useMayManage } from "../api/queries";
import { Snippet } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Step } from "./Step";
import { type Key, usable, useSetupKey } from "./setupKey";

export function KeyStep({ all }: { all: Key[] }) {
  const { key, text, choose, made } = useSetupKey();
  const existing = usable(all, new Date());
  return (
    <Step
      number={1}
      title="Choose a key for your agent"
      lead="Agents authenticate with an API key. The next steps follow the events of this key."
      isDone={key !== undefined}
      isOpen
    >
      {key === undefined ? (
        <>
          <NewKey onMade={made} />
          {existing.length > 0 && <Existing keys={existing} onChoose={choose} />}
        </>
      ) : (
        <Chosen name={key.name} text={text} onAnother={() => choose(undefined)} />
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
      {!mayManage && (
        <Text size="sm" className="quiet">
          You can view everything, but only admins and owners can create keys. Ask one of them.
        </Text>
      )}
    </Form>
  );
}

function Existing({ keys, onChoose }: { keys: Key[]; onChoose: (id: string) => void }) {
  return (
    <Select
      label="Or use an existing key"
      description="Watchbell stores only a fingerprint of each key, so you'll need your own copy of the key."
      placeholder="Choose a key"
      data={keys.map(({ id, name, hint }) => ({ value: id, label: `${name} (…${hint})` }))}
      value={null}
      onChange={(id) => id && onChoose(id)}
      maw={360}
    />
  );
}

interface ChosenProps {
  name: string;
  text: string | undefined;
  onAnother: () => void;
}

function Chosen({ name, text, onAnother }: ChosenProps) {
  return (
    <>
      {text === undefined ? (
        <Text size="sm">
          <b>{name}</b>. The key itself can't be shown again.
        </Text>
      ) : (
        <>
          <Snippet code={text} of="API key" />
          <Alert color="yellow" title="Copy it now">
            <Text size="sm">
              The key is shown only once and disappears when you reload or sign out. Treat it like a password.
            </Text>
          </Alert>
        </>
      )}
      <Group>
        <Button size="compact-sm" variant="subtle" onClick={onAnother}>
          Use another key
        </Button>
      </Group>
    </>
  );
}
