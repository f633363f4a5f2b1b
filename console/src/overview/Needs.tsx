// What needs a person: pending approvals, failing endpoints, disabled rules.
import { Anchor, Group, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { answer, api } from "../api/client";
import { queries } from "../api/queries";
import { queue } from "../decisions/waiting";
import { Loading, Trouble } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";

const ASK_EVERY_MS = 30_000;
/** How many of each to request; if there are more, the text says so. */
const LIMIT = 100;

interface Need {
  mark: string;
  word: string;
  text: ReactNode;
  to: string;
}

export function Needs() {
  const query = useQuery({ queryKey: ["needs"], queryFn: needs, refetchInterval: ASK_EVERY_MS });
  return (
    <Panel title="Needs attention">
      {query.isError && <Trouble error={query.error} again={() => query.refetch()} />}
      {query.isPending && <Loading lines={2} />}
      {query.data?.length === 0 && (
        <Text size="sm" className="quiet">
          No approvals pending, no endpoint failing, no rule disabled.
        </Text>
      )}
      <List listStyleType="none" spacing="xs">
        {query.data?.map((need) => (
          <List.Item key={`${need.to} ${need.word}`}>
            <Group gap="xs">
              <Mark word={need.mark}>{need.word}</Mark>
              <Anchor component={Link} to={need.to} size="sm">
                {need.text}
              </Anchor>
            </Group>
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}

async function needs(): Promise<Need[]> {
  const [approvals, endpoints, rules] = await Promise.all([
    // The menu counts the same.
    queries.fetchQuery(queue),
    answer(api.GET("/v1/endpoints", { params: { query: { limit: LIMIT } } })),
    answer(api.GET("/v1/alert-rules", { params: { query: { enabled: false, limit: LIMIT } } })),
  ]);
  const disabled = endpoints.data.filter((endpoint) => endpoint.status === "disabled");
  const failing = endpoints.data.filter((endpoint) => endpoint.status === "active" && endpoint.failing);
  const found: (Need & { count: number })[] = [
    {
      count: approvals.data.length,
      mark: "escalated",
      word: "pending",
      text: `${said(approvals.data.length, "action is", "actions are")} waiting for approval`,
      to: "/approvals",
    },
    {
      count: disabled.length,
      mark: "failed",
      word: "disabled",
      text: `${said(disabled.length, "endpoint was", "endpoints were")} disabled after failing for too long`,
      to: "/endpoints",
    },
    {
      count: failing.length,
      mark: "error",
      word: "failing",
      text: `${said(failing.length, "endpoint is", "endpoints are")} not accepting deliveries`,
      to: "/endpoints",
    },
    {
      count: rules.data.length,
      mark: "disabled",
      word: "disabled",
      text: `${said(rules.data.length, "alert rule is", "alert rules are")} disabled and will not send alerts`,
      to: "/rules?enabled=false",
    },
  ];
  return found.filter((need) => need.count > 0);
}

function said(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count >= LIMIT ? `${LIMIT} or more` : count} ${many}`;
}
