// Where a rule is written: the form on the left; preview, JSON, backtest and more on the right.
import { Button, Fieldset, Grid, Group, Modal, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { useAddress } from "../address";
import { about, useMayManage } from "../api/queries";
import { Panel } from "../parts/Page";
import { one } from "../search";
import { Backtest } from "./Backtest";
import { Seen } from "./Conditions";
import type { Editing } from "./draft";
import { type Fault, Faults, faultsOf } from "./faults";
import { useLast24h } from "./last24h";
import { Preview, Tally } from "./Preview";
import { judging, usePreview, valuesOf } from "./preview";
import { RuleForm } from "./RuleForm";
import { RuleJson } from "./RuleJson";

const NONE: Fault[] = [];

interface WorkbenchProps {
  editing: Editing;
  /** What went wrong when it was saved. */
  error: unknown;
  /** What the form lacks, once somebody tried to save it. */
  missing?: Fault[];
  /** Whether there is something to lose by leaving. */
  isChanged: boolean;
  /** The event that the rule is written for. */
  source?: string | undefined;
  /** More to choose at the right, by name. */
  more?: Record<string, ReactNode>;
}

export function Workbench({ editing, error, missing = NONE, isChanged, source, more = {} }: WorkbenchProps) {
  const [search, change] = useAddress();
  const mayManage = useMayManage();
  const preview = usePreview(editing.draft, mayManage, source);
  const day = useLast24h(mayManage && preview.isSuccess ? judging(editing.draft) : undefined);
  const { data: server } = useQuery(about);
  const seen = useMemo(
    () => valuesOf(preview.data?.events.map((tried) => tried.event) ?? []),
    [preview.data],
  );
  const tabs = ["preview", "json", "backtest", ...Object.keys(more)];
  const tab = tabs.find((name) => name === one(search.tab)) ?? "preview";
  // What saving said counts until the next change is tried; the preview judges what is on the screen now.
  const faults = useMemo(
    () => unique([...missing, ...faultsOf(error), ...faultsOf(preview.error)]),
    [missing, error, preview.error],
  );
  return (
    <Faults value={faults}>
      <Seen value={seen}>
        <Leaving isChanged={isChanged} />
        <Grid gap="md">
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Fieldset variant="unstyled" disabled={!mayManage}>
              <RuleForm editing={editing} receiver={server?.receiver_url} />
            </Fieldset>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 6 }}>
            <Panel>
              <Tabs
                value={tab}
                keepMounted={false}
                onChange={(name) =>
                  change({ tab: name === "preview" ? undefined : (name ?? undefined) }, { replace: true })
                }
              >
                <Tabs.List mb="sm">
                  {tabs.map((name) => (
                    <Tabs.Tab key={name} value={name}>
                      {TITLES[name] ?? name}
                    </Tabs.Tab>
                  ))}
                </Tabs.List>
                <Group justify="flex-end" mb="xs">
                  {mayManage && <Tally query={preview} day={day} />}
                </Group>
                <Tabs.Panel value="preview">
                  {mayManage ? (
                    <Preview query={preview} />
                  ) : (
                    <Text size="sm" className="quiet">
                      Only admins and owners can test rules. Ask one of them.
                    </Text>
                  )}
                </Tabs.Panel>
                <Tabs.Panel value="json">
                  <RuleJson editing={editing} />
                </Tabs.Panel>
                <Tabs.Panel value="backtest">
                  <Backtest draft={editing.draft} />
                </Tabs.Panel>
                {Object.entries(more).map(([name, content]) => (
                  <Tabs.Panel key={name} value={name}>
                    {content}
                  </Tabs.Panel>
                ))}
              </Tabs>
            </Panel>
          </Grid.Col>
        </Grid>
      </Seen>
    </Faults>
  );
}

const TITLES: Record<string, string> = {
  preview: "Preview",
  json: "JSON",
  backtest: "Backtest",
  test: "Test delivery",
  history: "History",
};

function unique(faults: { pointer: string; detail: string }[]) {
  const texts = new Set<string>();
  return faults.filter(({ pointer, detail }) => {
    const text = `${pointer} ${detail}`;
    return !texts.has(text) && texts.add(text);
  });
}

/** Asks before what is not saved is left behind. */
function Leaving({ isChanged }: { isChanged: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  return (
    <Modal
      opened={blocker.status === "blocked"}
      onClose={() => blocker.reset?.()}
      title="Leave without saving?"
    >
      <Stack>
        <Text size="sm">Your changes to this rule are not saved and will be lost.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.proceed?.()}>
            Leave
          </Button>
          <Button onClick={() => blocker.reset?.()}>Stay</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
