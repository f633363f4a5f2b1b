// The beginnings of a rule that matches what a query finds.
import { Alert, List } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Answered } from "../parts/Answered";
import { Page } from "../parts/Page";
import { checked, type QueryList } from "../parts/query";
import { BLANK, type Draft } from "./draft";

interface FromQueryProps {
  text: string;
  list: QueryList;
  children: (initial: Draft, note: ReactNode) => ReactNode;
}

export function FromQuery({ text, list, children }: FromQueryProps) {
  const query = useQuery(checked(list, text));
  if (!query.data) {
    return (
      <Page title="New alert rule">
        <Answered query={query}>{() => null}</Answered>
      </Page>
    );
  }
  const { rule, error, not_in_rules } = query.data;
  if (rule) {
    const except = rule.except.length > 0 ? { except: rule.except } : {};
    return children(
      { ...BLANK, match: rule.match, ...except },
      <Alert color="blue" title="Created from a search">
        The conditions match what this search finds:{" "}
        <span className="mono">{text || `every ${list === "decisions" ? "decision" : "event"}`}</span>
      </Alert>,
    );
  }
  return children(
    BLANK,
    <Alert color="yellow" title="This search can't be turned into a rule">
      <List size="sm">
        {[...(error ? [error] : []), ...not_in_rules].map((fault) => (
          <List.Item key={fault.start}>
            <span className="mono">{Array.from(text).slice(fault.start, fault.end).join("")}</span>:{" "}
            {fault.detail}
          </List.Item>
        ))}
      </List>
      Go back and change the search, or write the conditions here.
    </Alert>,
  );
}
