// The active policy version, the one in shadow, and all versions.
import { Anchor, Button, Group, Stack, Table, Text } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { Flips } from "./Flips";
import { shadowReport, standing, versions } from "./queries";
import { Settings } from "./Settings";
import { Steps } from "./Steps";

/** The version that everybody begins with; nobody wrote it. */
const STARTER = 1;

export default function Policies() {
  const query = useQuery(standing);
  return (
    <Page
      title="Policies"
      lead="What agents may do. One set of policies applies to all agents; its versions never change."
      actions={
        <Button component={Link} to="/policies/new" leftSection={<IconPencil size={16} />}>
          New version
        </Button>
      }
    >
      <Answered query={query}>
        {(now) => (
          <>
            {now.newest_version === STARTER && <OnlyStarter />}
            <InForce standing={now} />
            <Panel title="Shadow">
              {now.shadow ? <Shadow standing={now} shadow={now.shadow} /> : <NoShadow />}
            </Panel>
            <Panel title="Versions">
              <Versions standing={now} />
            </Panel>
            <Panel title="Guard settings">
              <Settings settings={now.settings} />
            </Panel>
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Teaches who has no policies of their own. */
function OnlyStarter() {
  return (
    <Panel>
      <Empty
        title="Everything is allowed"
        action={
          <Button component={Link} to="/policies/new">
            Write your first version
          </Button>
        }
      >
        Version 1 is the starter: it allows everything agents ask for. Write your own policies to deny what
        agents must not do and to ask a person about what matters. You can backtest them on past decisions and
        run them in shadow before you activate them.
      </Empty>
    </Panel>
  );
}

function InForce({ standing }: { standing: Body<"Policies"> }) {
  const { active, previous_version } = standing;
  return (
    <Panel
      title="Active version"
      actions={
        previous_version && <Steps version={previous_version} standing={standing} steps={["roll-back"]} />
      }
    >
      <Group gap="xs">
        <Mark word="active" />
        <Version number={active.version} />
      </Group>
      <Text size="sm" className="quiet" mt={4}>
        {active.since ? (
          <>
            since <When at={active.since} />, by <Who id={active.by} />
          </>
        ) : (
          "since the beginning"
        )}
      </Text>
    </Panel>
  );
}

function Shadow({ standing, shadow }: { standing: Body<"Policies">; shadow: Body<"PolicyPlace"> }) {
  const report = useQuery(shadowReport);
  return (
    <Stack gap="sm">
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <Mark word="shadow" />
          <Version number={shadow.version} />
          <Text size="sm" className="quiet">
            since <When at={shadow.since} />, by <Who id={shadow.by} />
          </Text>
        </Group>
        <Steps version={shadow.version} standing={standing} steps={["activate", "stop-shadow"]} />
      </Group>
      <Answered query={report}>
        {(data) => <Flips of={data} since={data.complete ? "since then" : "evaluated in time"} />}
      </Answered>
    </Stack>
  );
}

function NoShadow() {
  return (
    <Text size="sm" className="quiet">
      No version is in shadow. A version in shadow is evaluated for every decision, but its answer is not
      used, so you can see what it would change before you activate it.
    </Text>
  );
}

function Version({ number }: { number: number }) {
  return (
    <Anchor component={Link} to={`/policies/versions/${number}`} fw={600} style={{ whiteSpace: "nowrap" }}>
      Version {number}
    </Anchor>
  );
}

function Versions({ standing }: { standing: Body<"Policies"> }) {
  const query = useInfiniteQuery(versions);
  return (
    <Answered query={query}>
      {({ pages }) => (
        <>
          <Table.ScrollContainer minWidth={560} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table aria-label="Versions, newest first">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Version</Table.Th>
                  <Table.Th>Note</Table.Th>
                  <Table.Th>Policies</Table.Th>
                  <Table.Th>Created</Table.Th>
                  <Table.Th>Actions</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {pages
                  .flatMap(({ data }) => data)
                  .map((one) => (
                    <Row key={one.version} summary={one} standing={standing} />
                  ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {query.hasNextPage && (
            <Button
              variant="default"
              size="xs"
              mt="sm"
              loading={query.isFetchingNextPage}
              onClick={() => query.fetchNextPage()}
            >
              Show older versions
            </Button>
          )}
        </>
      )}
    </Answered>
  );
}

function Row({ summary, standing }: { summary: Body<"PolicyVersionSummary">; standing: Body<"Policies"> }) {
  const { version, note, size, created_at, created_by } = summary;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          <Version number={version} />
          {version === standing.active.version && <Mark word="active" />}
          {version === standing.shadow?.version && <Mark word="shadow" />}
        </Group>
      </Table.Td>
      <Table.Td>{note ?? (version === STARTER ? "The starter: everything is allowed" : "")}</Table.Td>
      <Table.Td>{size.toLocaleString("en")}</Table.Td>
      <Table.Td>
        {created_at ? (
          <>
            <When at={created_at} /> by <Who id={created_by} />
          </>
        ) : (
          ""
        )}
      </Table.Td>
      <Table.Td>
        <Steps version={version} standing={standing} steps={["activate", "shadow"]} />
      </Table.Td>
    </Table.Tr>
  );
}
