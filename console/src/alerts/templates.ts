// Rules to start from.
import type { Draft } from "./draft";

export interface Template {
  id: string;
  title: string;
  about: string;
  rule: Draft;
}

export const TEMPLATES: Template[] = [
  {
    id: "denied",
    title: "A tool call was denied",
    about: "An agent tried something it is not allowed to do.",
    rule: {
      name: "Denied tool calls",
      match: { event_type: ["tool_call"], result: ["denied"] },
      url: "",
      severity: "high",
    },
  },
  {
    id: "errors",
    title: "An agent keeps failing",
    about: "Five errors from one agent within ten minutes, then no repeats for an hour.",
    rule: {
      name: "An agent keeps failing",
      match: { result: ["error"] },
      url: "",
      severity: "medium",
      threshold: { count: 5, window_s: 600, group_by: ["agent_id"] },
      suppress: { for_s: 3_600, group_by: ["agent_id"] },
    },
  },
  {
    id: "rules",
    title: "Someone disabled an alert rule",
    about: "An alert rule was disabled or deleted.",
    rule: {
      name: "Alert rules disabled or deleted",
      match: { event_type: ["rule_change"], action: ["alert_rules.disable", "alert_rules.delete"] },
      url: "",
      severity: "high",
    },
  },
];

export function templateOf(id: string | undefined): Draft | undefined {
  return TEMPLATES.find((template) => template.id === id)?.rule;
}
