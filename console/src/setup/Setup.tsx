// Setup: from nothing to a verified webhook without leaving the page.
import { Anchor, Group, Stack } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { Answered, Trouble } from "../parts/Answered";
import { Page } from "../parts/Page";
import { one } from "../search";
import { DeliveryStep } from "./DeliveryStep";
import { KeyStep } from "./KeyStep";
import { RuleStep } from "./RuleStep";
import { ArriveStep, SendStep } from "./SendStep";
import { keys, useSetupKey } from "./setupKey";
import { useArrived } from "./trail";

export default function Setup() {
  const all = useQuery(keys);
  const { key } = useSetupKey();
  const { arrived, live } = useArrived(key?.id);
  const { first, newest } = arrived.data ?? {};
  const { rule, asked, made } = useRule();
  return (
    <Page
      title="Setup"
      lead="Connect an agent and get its first alert as a signed webhook. It takes two minutes."
      actions={
        rule && (
          <Group gap="md">
            <Anchor component={Link} to="/" size="sm">
              Go to the overview
            </Anchor>
          </Group>
        )
      }
    >
      {asked.isError && <Trouble error={asked.error} again={() => asked.refetch()} />}
      {arrived.isError && <Trouble error={arrived.error} again={() => arrived.refetch()} />}
      <Answered query={all}>
        {({ data }) => (
          <Stack gap="md" maw={960}>
            <KeyStep all={data} />
            <SendStep isDone={first !== undefined} />
            <ArriveStep arrived={arrived.data} live={live} />
            <RuleStep event={first} rule={rule} onMade={made} />
            <DeliveryStep event={newest} rule={rule} />
          </Stack>
        )}
      </Answered>
    </Page>
  );
}

/** The rule that was made here; its id is in the address, so that a reload does not lose it. */
function useRule() {
  const [search, change] = useAddress();
  const id = one(search.rule);
  const client = useQueryClient();
  const asked = useQuery({
    queryKey: ["rule", id],
    enabled: id !== undefined,
    queryFn: () => answer(api.GET("/v1/alert-rules/{id}", { params: { path: { id: id ?? "" } } })),
  });
  const made = (rule: Body<"Rule">) => {
    client.setQueryData(["rule", rule.id], rule);
    change({ rule: rule.id }, { replace: true });
  };
  return { rule: id === undefined ? undefined : asked.data, asked, made };
}
