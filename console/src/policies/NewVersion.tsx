// Writes a version: policies, schema and tests, checked while you type. A saved version is not active yet.
import { Button, Grid, Group, Menu, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { useSessionStorage } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { Problem } from "../api/problem";
import { useMayManage, useMe } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { counted } from "../parts/numbers";
import { Page, Panel } from "../parts/Page";
import { one, type Search } from "../search";
import { Ask } from "./Ask";
import { Checked, useChecks } from "./Checked";
import { bodyOf, type Draft, draftOf, marksByPart, type Part, withTemplate } from "./draft";
import { Editor } from "./Editor";
import { isError } from "./marks";
import { askAnew, standing, templates, version as versionQuery } from "./queries";

/** What a version is made of. */
const PARTS = [
  {
    name: "policies",
    language: "cedar",
    title: "Policies",
    description: 'Each policy has its own @id. @reason tells agents why; @verdict("escalate") asks a person.',
  },
  {
    name: "schema",
    language: "schema",
    title: "Schema",
    description: "Optional. A schema catches misspelled names and wrong types before they reach a decision.",
  },
  {
    name: "tests",
    language: "json",
    title: "Tests",
    description: "Questions with expected answers, as JSON. A version that fails a test is not saved.",
  },
] as const;

export default function NewVersion() {
  const places = useQuery(standing);
  return (
    <Page
      title="New policy version"
      lead="Policies are written in Cedar. Saving creates a new version; agents are not affected until you activate it."
    >
      <Answered query={places}>{({ active }) => <FromActive active={active.version} />}</Answered>
    </Page>
  );
}

function FromActive({ active }: { active: number }) {
  const search: Search = useSearch({ strict: false });
  const from = Number(one(search.from) ?? active);
  const query = useQuery(versionQuery(from));
  return (
    <Answered query={query}>{(start) => <Writing key={from} from={from} start={draftOf(start)} />}</Answered>
  );
}

/** What is written outlives a reload, until it is saved or begun anew. */
function Writing({ from, start }: { from: number; start: Draft }) {
  const { organisation: organization } = useMe();
  const [draft, setDraft, forget] = useSessionStorage<Draft>({
    key: `watchbell.policies.${organization.id}.${from}`,
    defaultValue: start,
    getInitialValueInEffect: false,
  });
  const [search, changeAddress] = useAddress();
  const part = (one(search.part) ?? "policies") as Part;
  const onPart = (next: string | null) => changeAddress({ part: next ?? undefined }, { replace: true });
  const checks = useChecks(draft);
  const change = (next: Partial<Draft>) => setDraft((before) => ({ ...before, ...next }));
  const marks = useMemo(() => marksByPart(checks.findings), [checks.findings]);
  const count = (of: Part) => marks[of].filter(isError).length;
  const label = (name: string, of: Part) =>
    count(of) > 0 ? `${name} (${counted(count(of), "error")})` : name;
  const isTouched = JSON.stringify(draft) !== JSON.stringify(start);
  return (
    <Grid>
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Stack>
          <Panel
            title={`Based on version ${from}`}
            actions={
              <Group gap="xs">
                <Templates onAdd={(template) => setDraft((before) => withTemplate(before, template))} />
                <Button size="xs" variant="default" disabled={!isTouched} onClick={forget}>
                  Start over
                </Button>
              </Group>
            }
          >
            <Tabs value={part} onChange={onPart} keepMounted={false}>
              <Tabs.List mb="sm">
                {PARTS.map(({ name, title }) => (
                  <Tabs.Tab key={name} value={name}>
                    {label(title, name)}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {PARTS.map(({ name, language, title, description }) => (
                <Tabs.Panel key={name} value={name}>
                  <Editor
                    label={title}
                    language={language}
                    description={description}
                    value={draft[name]}
                    onChange={(text) => change({ [name]: text })}
                    marks={marks[name]}
                    rows={22}
                  />
                </Tabs.Panel>
              ))}
            </Tabs>
          </Panel>
          <Save draft={draft} isGood={checks.isGood} onNote={(note) => change({ note })} onSaved={forget} />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Stack>
          <Checked checks={checks} onShow={onPart} />
          <Ask draft={draft} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

interface Template {
  policies: string;
  tests: unknown[];
}

function Templates({ onAdd }: { onAdd: (template: Template) => void }) {
  const query = useQuery(templates);
  return (
    <Menu position="bottom-end" withArrow width={320}>
      <Menu.Target>
        <Button size="xs" variant="default">
          Add template
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
        {query.isError && <Menu.Label>Templates cannot be loaded right now.</Menu.Label>}
        {query.data?.data.map((template) => (
          <Menu.Item key={template.id} onClick={() => onAdd(template)}>
            <Text size="sm" fw={600}>
              {template.title}
            </Text>
            <Text size="xs" className="quiet">
              {template.description}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface SaveProps {
  draft: Draft;
  isGood: boolean;
  onNote: (note: string) => void;
  onSaved: () => void;
}

function Save({ draft, isGood, onNote, onSaved }: SaveProps) {
  const mayManage = useMayManage();
  const navigate = useNavigate();
  const save = useMutation({
    mutationFn: () => answer(api.POST("/v1/policies/versions", { body: bodyOf(draft) })),
    onSuccess: async ({ version }) => {
      onSaved();
      await askAnew();
      notifications.show({
        title: `Version ${version} saved`,
        message: "It is not active yet.",
        color: "teal",
      });
      await navigate({ to: `/policies/versions/${version}`, search: { tab: "backtest" } as never });
    },
  });
  const said =
    save.error instanceof Problem ? save.error.faults?.find((one) => one.pointer === "/note") : undefined;
  return (
    <Panel title="Save">
      <TextInput
        label="Note"
        description="Describe the change, like a commit message."
        value={draft.note}
        onChange={(event) => onNote(event.currentTarget.value)}
        maxLength={500}
        error={said?.detail}
        disabled={!mayManage}
      />
      <Group mt="sm">
        <Button onClick={() => save.mutate()} loading={save.isPending} disabled={!mayManage || !isGood}>
          Save version
        </Button>
        <Text size="sm" className="quiet">
          {mayManage
            ? "Then backtest it, run it in shadow, and activate it."
            : "Only admins and owners can write policies."}
        </Text>
      </Group>
      {save.isError && !said && <Trouble error={save.error} />}
    </Panel>
  );
}
