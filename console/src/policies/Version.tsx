// One version: its policies, how it differs, and what it would have decided.
import { Button, Group, Select, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type Change, useAddress } from "../address";
import type { Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { one } from "../search";
import { Backtest } from "./Backtest";
import { Compared } from "./Compared";
import { Editor } from "./Editor";
import { MarkedText } from "./MarkedText";
import { NextSteps } from "./NextSteps";
import { standing, version as versionQuery } from "./queries";
import { Steps } from "./Steps";

export default function Version() {
  const { version: text } = useParams({ strict: false }) as { version: string };
  const number = Number(text);
  const version = useQuery(versionQuery(number));
  const places = useQuery(standing);
  // One that was never in force is led there step by step.
  const isAhead = places.data !== undefined && number > places.data.active.version;
  return (
    <Page
      title={`Version ${text}`}
      windowTitle={`Policies, version ${text}`}
      lead={version.data && <Lead version={version.data} />}
      actions={
        places.data &&
        version.data && (
          <>
            <Steps
              version={number}
              standing={places.data}
              steps={isAhead ? ["stop-shadow"] : ["activate", "shadow", "stop-shadow"]}
            />
            <Button
              size="xs"
              variant="default"
              component={Link}
              to="/policies/new"
              search={{ from: text } as never}
            >
              Edit as new version
            </Button>
          </>
        )
      }
    >
      <Answered query={version}>
        {(data) => (
          <Answered query={places}>
            {(now) => (
              <>
                {isAhead && <NextSteps version={number} standing={now} />}
                <Parts version={data} standing={now} />
              </>
            )}
          </Answered>
        )}
      </Answered>
    </Page>
  );
}

function Lead({ version }: { version: Body<"PolicyVersion"> }) {
  return (
    <>
      {version.note}
      {version.created_at && (
        <>
          {version.note && " · "}created <When at={version.created_at} /> by <Who id={version.created_by} />
        </>
      )}
    </>
  );
}

interface PartsProps {
  version: Body<"PolicyVersion">;
  standing: Body<"Policies">;
}

function Parts({ version, standing }: PartsProps) {
  const [search, changeAddress] = useAddress();
  const change = (next: Change) => changeAddress(next, { replace: true });
  const number = version.version;
  const marked = one(search.policy);
  return (
    <Panel>
      <Group gap="xs" mb="sm">
        {number === standing.active.version && <Mark word="active" />}
        {number === standing.shadow?.version && <Mark word="shadow" />}
        <Text size="sm" className="quiet">
          {version.size === 1 ? "1 policy" : `${version.size.toLocaleString("en")} policies`}
        </Text>
        <Id id={version.digest} />
      </Group>
      <Tabs
        value={one(search.tab) ?? "policies"}
        onChange={(tab) => change({ tab: tab ?? undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="policies">Policies</Tabs.Tab>
          <Tabs.Tab value="schema">Schema</Tabs.Tab>
          <Tabs.Tab value="tests">Tests ({version.tests.length})</Tabs.Tab>
          <Tabs.Tab value="diff">Compare</Tabs.Tab>
          <Tabs.Tab value="backtest">Backtest</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="policies">
          {marked === undefined ? (
            <Editor label="Policies, in Cedar" language="cedar" value={version.policies} rows={24} />
          ) : (
            <MarkedText text={version.policies} policy={marked} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="schema">
          {version.schema ? (
            <Editor label="Schema" language="schema" value={version.schema} rows={20} />
          ) : (
            <Empty title="No schema">
              A schema catches misspelled names and wrong types when a version is saved.
            </Empty>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="tests">
          {version.tests.length === 0 ? (
            <Empty title="No tests">
              Tests are questions with expected answers. They run whenever a version is saved.
            </Empty>
          ) : (
            <Json value={version.tests} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="diff">
          <Compare
            version={number}
            standing={standing}
            against={Number(one(search.against) ?? against(number, standing))}
            onChange={(other) => change({ against: other })}
          />
        </Tabs.Panel>
        <Tabs.Panel value="backtest">
          <Backtest version={number} />
        </Tabs.Panel>
      </Tabs>
    </Panel>
  );
}

/** What a version is compared with if nobody says: what is in force, or if it is, what came before it. */
function against(version: number, { active, previous_version }: Body<"Policies">): number {
  if (version !== active.version) return active.version;
  return previous_version ?? Math.max(version - 1, 1);
}

interface CompareProps {
  version: number;
  standing: Body<"Policies">;
  against: number;
  onChange: (against: string) => void;
}

function Compare({ version, standing, against, onChange }: CompareProps) {
  const all = Array.from({ length: standing.newest_version }, (_, at) => standing.newest_version - at);
  const data = all
    .filter((other) => other !== version)
    .map((other) => ({
      value: String(other),
      label: other === standing.active.version ? `Version ${other} (active)` : `Version ${other}`,
    }));
  return (
    <Stack gap="sm">
      <Select
        label="Compare with"
        data={data}
        value={String(against)}
        onChange={(other) => other && onChange(other)}
        allowDeselect={false}
        searchable
        maw={280}
      />
      <Compared before={against} after={version} />
    </Stack>
  );
}
