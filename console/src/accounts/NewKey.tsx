// Creates an API key with a name, scopes and an expiry.
import { Button, Checkbox, Group, Modal, NativeSelect, TagsInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { answer, api, type Body } from "../api/client";
import { Form } from "../parts/Form";
import { endOf, LIFETIMES } from "./keys";
import { AGENT_SCOPES, PRESETS, SCOPES, type Scope } from "./scopes";

interface NewKeyProps {
  close: () => void;
  onMade: (key: Body<"MadeKey">) => void;
}

export function NewKey({ close, onMade }: NewKeyProps) {
  const form = useForm({
    initialValues: { name: "", scopes: AGENT_SCOPES, agents: [] as string[], expires_at: "" },
    validate: {
      name: (name: string) => (name.trim() === "" ? "Enter a name." : null),
      scopes: (scopes: string[]) => (scopes.length === 0 ? "Choose at least one." : null),
    },
  });
  return (
    <Modal opened onClose={close} title="New API key" size="lg">
      <Form
        form={form}
        send={({ name, scopes, agents, expires_at }) => {
          const body = { name: name.trim(), scopes, agents, expires_at: endOf(expires_at, new Date()) };
          return answer(api.POST("/v1/api-keys", { body }));
        }}
        done={onMade}
        action="Create key"
        cancel={close}
      >
        <TextInput
          label="Name"
          description="Which agent or program uses this key."
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <Scopes
          chosen={form.values.scopes}
          error={form.errors.scopes}
          onChange={(scopes) => form.setFieldValue("scopes", scopes)}
        />
        <TagsInput
          label="Agents"
          description="The key sends events and asks for decisions only as these agents; billing-* matches every agent that starts with billing-. Leave blank for any agent."
          maxTags={20}
          {...form.getInputProps("agents")}
        />
        <NativeSelect
          label="Expires"
          description="Keys that expire are safer."
          data={LIFETIMES}
          {...form.getInputProps("expires_at")}
        />
      </Form>
    </Modal>
  );
}

interface ScopesProps {
  chosen: Scope[];
  error: React.ReactNode;
  onChange: (scopes: Scope[]) => void;
}

function Scopes({ chosen, error, onChange }: ScopesProps) {
  const isPreset = (scopes: Scope[]) =>
    scopes.length === chosen.length && scopes.every((scope) => chosen.includes(scope));
  return (
    <Checkbox.Group
      label="Scopes"
      description="Grant no more than the key needs. Start with one of these:"
      required
      value={chosen}
      onChange={(scopes) => onChange(scopes as Scope[])}
      error={error}
    >
      <Group gap="xs" my="xs">
        {PRESETS.map(({ name, scopes }) => (
          <Button
            key={name}
            size="compact-xs"
            variant={isPreset(scopes) ? "filled" : "default"}
            aria-pressed={isPreset(scopes)}
            onClick={() => onChange(scopes)}
          >
            {name}
          </Button>
        ))}
      </Group>
      {Object.entries(SCOPES).map(([scope, meaning]) => (
        <Checkbox
          key={scope}
          value={scope}
          size="xs"
          my={6}
          label={
            <Text size="sm" component="span">
              <span className="mono">{scope}</span> <span className="quiet">{meaning}</span>
            </Text>
          }
        />
      ))}
    </Checkbox.Group>
  );
}
