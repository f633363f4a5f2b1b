// All alert rules, their activity, and whether they are enabled.
import {
  Button,
  type ButtonProps,
  Group,
  Select,
  SimpleGrid,
  Switch,
  Table,
  Text,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBell, IconPlus, IconSearch } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { queries, useMayManage } from "../api/queries";
import { Answered, Empty, Trouble } from "../parts/Answered";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { one } from "../search";
import { allRules, RULES_MAX, withText } from "./all";
import { draftOf } from "./draft";
import { EveryEvent, matchesEverything } from "./EveryEvent";
import { States } from "./States";
import { TEMPLATES } from "./templates";

export default function Rules() {
  const [search] = useAddress();
  const enabled = one(search.enabled);
  const isEnabled = enabled === undefined ? undefined : enabled === "true";
  const tag = one(search.tag);
  const text = one(search.q) ?? "";
  const isNarrowed = enabled !== undefined || tag !== undefined || text.trim() !== "";
  const rules = useQuery({
    queryKey: ["rules", { enabled, tag }],
    queryFn: () =>
      answer(
        api.GET("/v1/alert-rules", { params: { query: { enabled: isEnabled, tag, limit: RULES_MAX } } }),
      ),
    refetchInterval: 15_000,
  });
  return (
    <Page
      title="Alert rules"
      lead="Which events trigger an alert and where it is sent. Rules are evaluated as events arrive."
      actions={<NewRuleButton leftSection={<IconPlus size={16} />}>Create rule</NewRuleButton>}
    >
      <Filters enabled={enabled} tag={tag} />
      <Answered
        query={rules}
        isEmpty={({ data }) => withText(data, text).length === 0}
        empty={isNarrowed ? <NoneFits /> : <NoneYet />}
      >
        {({ data }) => <List rules={withText(data, text)} />}
      </Answered>
    </Page>
  );
}

/** Leads to a new rule, for who can make one. */
function NewRuleButton({ template, ...props }: ButtonProps & { template?: string }) {
  if (!useMayManage()) return <ManageButton {...props} onClick={undefined} />;
  return <Button {...props} component={Link} to="/rules/new" search={{ template } as never} />;
}

interface FiltersProps {
  enabled: string | undefined;
  tag: string | undefined;
}

function Filters({ enabled, tag }: FiltersProps) {
  const [, change] = useAddress();
  const all = useQuery(allRules);
  const tags = [...new Set(all.data?.data.flatMap((rule) => rule.tags) ?? [])].sort();
  const set = (name: string, value: string | null) => change({ [name]: value ?? undefined });
  return (
    <Group gap="xs">
      <TextSearch />
      <Select
        size="xs"
        w={140}
        aria-label="Enabled or disabled"
        placeholder="All rules"
        clearable
        data={[
          { value: "true", label: "Enabled" },
          { value: "false", label: "Disabled" },
        ]}
        value={enabled ?? null}
        onChange={(value) => set("enabled", value)}
      />
      {(tags.length > 0 || tag !== undefined) && (
        <Select
          size="xs"
          w={160}
          aria-label="Tag"
          placeholder="Any tag"
          clearable
          searchable
          data={tag === undefined || tags.includes(tag) ? tags : [...tags, tag]}
          value={tag ?? null}
          onChange={(value) => set("tag", value)}
        />
      )}
    </Group>
  );
}

/** The address follows each letter, but not at once; until then the field has the text. */
function TextSearch() {
  const [search, change] = useAddress();
  const sought = one(search.q) ?? "";
  const [text, setText] = useState(sought);
  const typed = useRef(sought);
  const type = (next: string) => {
    typed.current = next;
    setText(next);
    change({ q: next }, { replace: true });
  };
  // A link or a step back leads to another search.
  useEffect(() => {
    if (sought === typed.current) return;
    typed.current = sought;
    setText(sought);
  }, [sought]);
  return (
    <TextInput
      type="search"
      size="xs"
      w={220}
      aria-label="Search rules"
      placeholder="Name, URL or description"
      leftSection={<IconSearch size={14} />}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}

function List({ rules }: { rules: Body<"Rule">[] }) {
  return (
    <Panel>
      <Stacked
        label="Alert rules"
        head={["Rule", "State", "Sends to", "Matches (24 h)", "Alerts (24 h)", "Last match", "Enabled"]}
      >
        {rules.map((rule) => (
          <Row key={rule.id} rule={rule} />
        ))}
      </Stacked>
    </Panel>
  );
}

function Row({ rule }: { rule: Body<"Rule"> }) {
  const { stats } = rule;
  return (
    <Table.Tr>
      <Table.Td data-label="Rule">
        <Group gap={6}>
          <To path={`/rules/${rule.id}`} fw={600}>
            {rule.name}
          </To>
          {rule.severity && <Mark word={rule.severity} />}
          {rule.tags.map((tag) => (
            <To key={tag} path="/rules" with={{ tag }}>
              #{tag}
            </To>
          ))}
        </Group>
      </Table.Td>
      <Table.Td data-label="State">
        <States rule={rule} />
      </Table.Td>
      <Table.Td data-label="Sends to">
        <Text size="sm" className="mono truncate" maw={260} title={rule.url}>
          {rule.url}
        </Text>
      </Table.Td>
      <Table.Td data-label="Matches (24 h)">{stats.matched_24h.toLocaleString("en")}</Table.Td>
      <Table.Td data-label="Alerts (24 h)">
        <To path="/deliveries" with={{ rule_id: rule.id }}>
          {stats.alerts_24h.toLocaleString("en")}
        </To>
        {stats.suppressed_24h + stats.withheld_24h > 0 && (
          <Text size="xs" className="quiet">
            {(stats.suppressed_24h + stats.withheld_24h).toLocaleString("en")} not sent
          </Text>
        )}
      </Table.Td>
      <Table.Td data-label="Last match">
        <When at={stats.last_matched_at} />
      </Table.Td>
      <Table.Td data-label="Enabled">
        <Toggle rule={rule} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Enables or disables a rule, unless somebody changed it since it was shown. */
function Toggle({ rule }: { rule: Body<"Rule"> }) {
  const mayManage = useMayManage();
  const toggle = useMutation({
    mutationFn: (enabled: boolean) =>
      answer(
        api.PATCH("/v1/alert-rules/{id}", {
          params: { path: { id: rule.id }, header: { "If-Match": `"${rule.version}"` } },
          body: { enabled } as never,
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["rules"] }),
  });
  const [isAsking, asking] = useDisclosure(false);
  const draft = draftOf(rule);
  const change = (enabled: boolean) => {
    if (enabled && matchesEverything({ ...draft, enabled })) asking.open();
    else toggle.mutate(enabled);
  };
  return (
    <>
      <Switch
        aria-label={`${rule.name} is enabled`}
        checked={toggle.isPending ? toggle.variables : rule.enabled}
        disabled={!mayManage || toggle.isPending}
        title={mayManage ? undefined : "Only admins and owners can change rules."}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      {toggle.isError && <Trouble error={toggle.error} />}
      {isAsking && (
        <EveryEvent rule={draft} action="Enable" save={() => toggle.mutate(true)} close={asking.close} />
      )}
    </>
  );
}

function NoneFits() {
  return (
    <Empty
      title="No matching rules"
      action={
        <Button component={Link} to="/rules" variant="default" size="xs">
          Show all rules
        </Button>
      }
    >
      No rules match this search and these filters.
    </Empty>
  );
}

function NoneYet() {
  return (
    <>
      <Empty
        title="No alert rules yet"
        icon={<IconBell size={26} />}
        action={
          <Group gap="xs" mt="xs">
            <NewRuleButton leftSection={<IconPlus size={16} />}>Create rule</NewRuleButton>
            <Button component={Link} to="/events" variant="default">
              Create one from an event
            </Button>
          </Group>
        }
      >
        A rule defines which events trigger an alert, and sends a signed webhook for each. Start from a
        template below, or open an event that you want to be alerted about.
      </Empty>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        {TEMPLATES.map((template) => (
          <Panel key={template.id} title={template.title}>
            <Text size="sm" className="quiet" mb="sm">
              {template.about}
            </Text>
            <NewRuleButton template={template.id} size="xs" variant="light">
              Use this
            </NewRuleButton>
          </Panel>
        ))}
      </SimpleGrid>
    </>
  );
}
