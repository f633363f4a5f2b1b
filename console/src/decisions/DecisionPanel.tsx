// One decision beside the list: the question, the answer and why; asking it again; the record.
import { Anchor, Group, List, Stack, Tabs, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { AuditEvent } from "../events/row";
import { Answered, Loading } from "../parts/Answered";
import { Copy, Id } from "../parts/Copy";
import { duration } from "../parts/clock";
import { Facts } from "../parts/Facts";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { approvedAs } from "../why/decision";
import { PolicyNames } from "../why/PolicyNames";
import { timelineOf } from "../why/timelineOf";
import { AskAgain } from "./AskAgain";
import { decision as decisionQuery } from "./list";
import { type Decision, decisionIdOf, MEANING } from "./model";
import { Question } from "./Question";
import { Side } from "./Side";

const Chain = lazy(() => import("../why/Chain"));

interface DecisionPanelProps {
  id: string | undefined;
  tab: string;
  onTab: (tab: string) => void;
  onClose: () => void;
}

/** The list beside it stays in use: j and k go on while it is open. */
export function DecisionPanel({ id, tab, onTab, onClose }: DecisionPanelProps) {
  if (id === undefined) return null;
  return (
    <Side title="Decision" onClose={onClose}>
      <Shown key={id} id={id} tab={tab} onTab={onTab} />
    </Side>
  );
}

function Shown({ id, tab, onTab }: { id: string; tab: string; onTab: (tab: string) => void }) {
  const query = useQuery(decisionQuery(id));
  return (
    <Answered query={query}>
      {(decision) => (
        <Tabs value={tabOf(tab, decision)} onChange={(next) => onTab(next ?? "answer")} keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="answer">Question and answer</Tabs.Tab>
            <Tabs.Tab value="why">Why?</Tabs.Tab>
            {decision.metadata.question && <Tabs.Tab value="again">Ask again</Tabs.Tab>}
            <Tabs.Tab value="json">JSON</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="answer">
            <Answer decision={decision} />
          </Tabs.Panel>
          <Tabs.Panel value="why">
            <Suspense fallback={<Loading lines={3} />}>
              <Chain event={decision as AuditEvent} />
            </Suspense>
          </Tabs.Panel>
          {decision.metadata.question && (
            <Tabs.Panel value="again">
              <AskAgain decision={decision} />
            </Tabs.Panel>
          )}
          <Tabs.Panel value="json">
            <Group justify="flex-end">
              <Copy text={JSON.stringify(decision, null, 2)} of="JSON" />
            </Group>
            <Json value={decision} />
          </Tabs.Panel>
        </Tabs>
      )}
    </Answered>
  );
}

/** The tab that an address names, unless the decision has none of it. */
function tabOf(tab: string, { metadata }: Decision): string {
  const tabs = metadata.question ? ["answer", "why", "again", "json"] : ["answer", "why", "json"];
  return tabs.includes(tab) ? tab : "answer";
}

function Answer({ decision }: { decision: Decision }) {
  const { metadata } = decision;
  const verdict = metadata.decision;
  return (
    <Stack gap="md">
      <div>
        <Group gap="xs">
          <Mark word={decision.result} />
          <Text fw={600}>{metadata.reason}</Text>
        </Group>
        {verdict && (
          <Text size="sm" className="quiet">
            {MEANING[verdict]}
          </Text>
        )}
      </div>
      <Section title="Question">
        {metadata.question ? (
          <Question question={metadata.question} />
        ) : (
          <Text size="sm" className="quiet">
            This decision was made before questions were recorded.
          </Text>
        )}
      </Section>
      <Section title="Answer">
        <Facts of={factsOf(decision)} />
      </Section>
      {(metadata.errors?.length ?? 0) > 0 && (
        <Section title="Policies that could not be evaluated">
          <Text size="sm" mb={4}>
            An error always denies, regardless of other policies.
          </Text>
          <List size="sm">
            {metadata.errors?.map(({ id, error }) => (
              <List.Item key={`${id}${error}`}>
                <span className="mono">{id ?? "schema"}</span>: {error}
              </List.Item>
            ))}
          </List>
        </Section>
      )}
    </Stack>
  );
}

function factsOf(decision: Decision) {
  const { metadata } = decision;
  return {
    "Decided by": metadata.policies?.length ? (
      <PolicyNames decision={decision} />
    ) : (
      <span className="quiet">no policy</span>
    ),
    "Policy version": metadata.policy_version && <VersionLink version={metadata.policy_version} />,
    "Shadow version": metadata.shadow && (
      <Group gap={6}>
        <Mark word={metadata.shadow.decision} />
        {metadata.mode !== "shadow" && (
          <>
            in version <VersionLink version={metadata.shadow.policy_version} />
          </>
        )}
      </Group>
    ),
    Mode: metadata.mode === "shadow" && "shadow: the agent was allowed to proceed regardless of the policies",
    Approval: approvalOf(decision),
    "Not approved": metadata.refused?.why.replaceAll("_", " "),
    Payload: metadata.has_payload ? "sent; its content is not recorded" : undefined,
    Took: metadata.took_us === undefined ? undefined : duration(metadata.took_us / 1_000),
    When: <When at={decision.occurred_at} exact />,
    Session: decision.session_id && (
      <Anchor component={Link} to="/events" search={{ session_id: decision.session_id } as never} size="sm">
        {decision.session_id}
      </Anchor>
    ),
    Timeline: timelineOf(decision) && (
      <To path="/timeline" with={{ ...timelineOf(decision), event: decision.id }}>
        Open timeline
      </To>
    ),
    Decision: <Id id={decisionIdOf(decision)} />,
    Event: (
      <Id id={decision.id}>
        <Anchor component={Link} to="/events" search={{ event: decision.id } as never} size="sm">
          {decision.id}
        </Anchor>
      </Id>
    ),
  };
}

/** What a person said to it, or for which earlier question one had said yes. */
function approvalOf(decision: Decision) {
  const { approval } = decision.metadata;
  const id = approvedAs(decision);
  if (id === undefined) return undefined;
  return (
    <Anchor component={Link} to="/approvals" search={{ approval: id } as never} size="sm">
      {approval ? "allowed by an approval" : "view the approval"}
    </Anchor>
  );
}

export function VersionLink({ version }: { version: number }) {
  return (
    <Anchor component={Link} to={`/policies/versions/${version}`} size="sm">
      {version}
    </Anchor>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section>
      <Title order={3} size="h6" mb={6}>
        {title}
      </Title>
      {children}
    </section>
  );
}
