// The form of a rule: its name, the events it matches, where it sends alerts and how often.
import { Button, Group, Select, Stack, Switch, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Panel } from "../parts/Page";
import { PatternForm } from "./Conditions";
import type { Editing } from "./draft";
import { FaultsAt, pointerOf, useFault } from "./faults";
import { Pace } from "./Pace";
import { SEVERITIES } from "./words";

export function RuleForm({ editing, receiver }: { editing: Editing; receiver: string | null | undefined }) {
  const { draft, change } = editing;
  return (
    <Stack gap="md">
      <Panel title="Rule">
        <Stack gap="xs">
          <TextField editing={editing} name="name" label="Name" placeholder="Denied refunds" required />
          <TextField
            editing={editing}
            name="url"
            label="Send alerts to"
            placeholder="https://example.com/hooks/watchbell"
            required
          />
          {receiver && draft.url !== receiver && (
            <div>
              <Button size="compact-xs" variant="subtle" onClick={() => change({ url: receiver })}>
                Use this server's test receiver
              </Button>
            </div>
          )}
          <Group grow align="flex-start">
            <Select
              label="Severity"
              size="sm"
              placeholder="none"
              data={SEVERITIES}
              clearable
              value={typeof draft.severity === "string" ? draft.severity : null}
              error={useFault("/severity")}
              onChange={(severity) => change({ severity: severity ?? undefined })}
            />
            <TagsInput
              label="Tags"
              size="sm"
              placeholder="payments"
              acceptValueOnBlur
              value={texts(draft.tags)}
              error={useFault("/tags")}
              onChange={(tags) => change({ tags: tags.length === 0 ? undefined : tags })}
            />
          </Group>
        </Stack>
      </Panel>
      <Panel title="Alert when an event matches">
        <Text size="xs" className="quiet" mb="xs">
          All conditions must match (AND). Several values in one field mean OR. Without conditions, the rule
          matches every event.
        </Text>
        <PatternForm pointer="/match" match={draft.match ?? {}} onChange={(match) => change({ match })} />
      </Panel>
      <Exceptions editing={editing} />
      <Pace editing={editing} />
      <Panel title="Notes for responders">
        <Stack gap="xs">
          <Textarea
            label="Description"
            size="sm"
            autosize
            minRows={2}
            value={text(draft.description)}
            error={useFault("/description")}
            onChange={(event) => change({ description: event.currentTarget.value || undefined })}
          />
          <TextField
            editing={editing}
            name="runbook_url"
            label="Runbook"
            placeholder="https://wiki.example.com/refunds"
            description="Link to the runbook for this alert."
          />
          <Switch
            label="Enabled"
            description="Disabled rules are not evaluated."
            checked={draft.enabled !== false}
            onChange={(event) => change({ enabled: event.currentTarget.checked ? undefined : false })}
          />
          {Array.isArray(draft.tests) && draft.tests.length > 0 && (
            <Text size="xs" className="quiet">
              {draft.tests.length === 1 ? "1 test runs" : `${draft.tests.length} tests run`} on every save.
              Edit tests as JSON.
            </Text>
          )}
          <FaultsAt pointer="/tests" />
        </Stack>
      </Panel>
    </Stack>
  );
}

/** Which events are not wanted after all. */
function Exceptions({ editing: { draft, change } }: { editing: Editing }) {
  const exceptions: unknown[] = Array.isArray(draft.except) ? draft.except : [];
  const set = (next: unknown[]) => change({ except: next.length === 0 ? undefined : next });
  return (
    <Panel title="Except">
      <Stack gap="sm">
        {exceptions.length === 0 && (
          <Text size="xs" className="quiet">
            Events that match above but should not alert, such as those from a test agent.
          </Text>
        )}
        {exceptions.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: exceptions have nothing but their place.
          <Stack key={at} gap={4}>
            <Group justify="space-between">
              <Text size="sm" fw={600}>
                {at === 0 ? "Unless" : "or unless"}
              </Text>
              <Button
                size="compact-xs"
                variant="subtle"
                color="gray"
                onClick={() => set(exceptions.filter((_, place) => place !== at))}
              >
                Remove exception
              </Button>
            </Group>
            <PatternForm
              pointer={pointerOf("except", at)}
              match={one}
              onChange={(match) => set(exceptions.map((other, place) => (place === at ? match : other)))}
            />
          </Stack>
        ))}
        <div>
          <Button
            size="compact-xs"
            variant="subtle"
            leftSection={<IconPlus size={12} />}
            onClick={() => set([...exceptions, { agent_id: [] }])}
          >
            Add an exception
          </Button>
        </div>
      </Stack>
    </Panel>
  );
}

interface TextFieldProps {
  editing: Editing;
  name: string;
  label: string;
  placeholder?: string;
  description?: string;
  required?: boolean;
}

function TextField({ editing: { draft, change }, name, required, ...rest }: TextFieldProps) {
  return (
    <TextInput
      size="sm"
      {...rest}
      withAsterisk={required}
      value={text(draft[name])}
      error={useFault(pointerOf(name))}
      onChange={(event) => change({ [name]: event.currentTarget.value || (required ? "" : undefined) })}
    />
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
