// What waits for a person: approvals, endpoints in trouble, rules that are off.
import { Anchor, Group, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { answer, api } from "../api/client";
import { Loading, Trouble } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";

const ASK_EVERY_MS = 30_000;
/** How many of each are asked for; with more it says so. */
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
    <Panel title="What needs you">
      {query.isError && <Trouble error={query.error} again={() => query.refetch()} />}
      {query.isPending && <Loading lines={2} />}
      {query.data?.length === 0 && (
        <Text size="sm" className="quiet">
          Nothing. No approval waits, every endpoint is doing well, and every rule is on.
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
    answer(api.GET("/v1/runtime/approvals", { params: { query: { status: "pending", limit: LIMIT } } })),
    answer(api.GET("/v1/endpoints", { params: { query: { limit: LIMIT } } })),
    answer(api.GET("/v1/alert-rules", { params: { query: { enabled: false, limit: LIMIT } } })),
  ]);
  const disabled = endpoints.data.filter((endpoint) => endpoint.status === "disabled");
  const failing = endpoints.data.filter((endpoint) => endpoint.status === "active" && endpoint.failing);
  const found: (Need & { count: number })[] = [
    {
      count: approvals.data.length,
      mark: "escalated",
      word: "decide",
      text: `${said(approvals.data.length, "action waits", "actions wait")} for approval`,
      to: "/approvals",
    },
    {
      count: disabled.length,
      mark: "failed",
      word: "off",
      text: `${said(disabled.length, "endpoint was", "endpoints were")} switched off after failing for long`,
      to: "/endpoints",
    },
    {
      count: failing.length,
      mark: "error",
      word: "failing",
      text: `${said(failing.length, "endpoint does", "endpoints do")} not take deliveries`,
      to: "/endpoints",
    },
    {
      count: rules.data.length,
      mark: "disabled",
      word: "off",
      text: `${said(rules.data.length, "alert rule is", "alert rules are")} off and will not ring`,
      to: "/rules?enabled=false",
    },
  ];
  return found.filter((need) => need.count > 0);
}

function said(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count >= LIMIT ? `${LIMIT} or more` : count} ${many}`;
}
