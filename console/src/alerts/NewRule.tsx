// Creates a rule: from scratch, from a template, from an event, or from a search.
import { Alert, Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { answer, api, type Body } from "../api/client";
import { queries, useMayManage } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { Page } from "../parts/Page";
import { one } from "../search";
import { BLANK, copyOf, type Draft, useDraft } from "./draft";
import { EveryEvent, matchesEverything } from "./EveryEvent";
import { FromQuery } from "./FromQuery";
import { faultsOf, goToFault, isSaidInForm, missingIn } from "./faults";
import { templateOf } from "./templates";
import { Workbench } from "./Workbench";

export default function NewRule() {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const event = one(search.event);
  const template = one(search.template);
  const copy = one(search.copy);
  const mayManage = useMayManage();
  const suggestion = useQuery({
    queryKey: ["rule-suggestion", event],
    queryFn: () => answer(api.POST("/v1/alert-rules/suggest", { body: { event_id: event } })),
    enabled: event !== undefined && mayManage,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (event !== undefined && mayManage) {
    const answered = (
      <Answered query={suggestion}>
        {(suggested) => <Writing key={event} initial={{ ...BLANK, ...suggested }} fromEvent={event} />}
      </Answered>
    );
    return suggestion.data ? answered : <Page title="New alert rule">{answered}</Page>;
  }
  // A list without a filter has nothing in the address but its name, and still is not every event.
  const filter = one(search.filter) ?? (one(search.list) && "");
  if (filter !== undefined && mayManage) {
    const list = one(search.list) === "decisions" ? "decisions" : "events";
    return (
      <FromQuery key={filter} text={filter} list={list}>
        {(initial, note) => <Writing initial={initial} note={note} />}
      </FromQuery>
    );
  }
  if (copy !== undefined && mayManage) return <Copied key={copy} id={copy} />;
  return <Writing key={template} initial={templateOf(template) ?? BLANK} />;
}

/** A rule that begins as another one is. */
function Copied({ id }: { id: string }) {
  const rule = useQuery({
    queryKey: ["rule-copied", id],
    queryFn: () => answer(api.GET("/v1/alert-rules/{id}", { params: { path: { id } } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const answered = <Answered query={rule}>{(data) => <Writing initial={copyOf(data)} />}</Answered>;
  return rule.data ? answered : <Page title="New alert rule">{answered}</Page>;
}

interface WritingProps {
  initial: Draft;
  fromEvent?: string;
  /** Where the rule comes from. */
  note?: ReactNode;
}

function Writing({ initial, fromEvent, note }: WritingProps) {
  const editing = useDraft(initial);
  const navigate = useNavigate();
  const mayManage = useMayManage();
  const [isSaved, setSaved] = useState(false);
  const save = useMutation({
    mutationFn: (enabled: boolean) => {
      const body = { ...editing.draft, enabled } as unknown as Body<"NewRule">;
      return answer(api.POST("/v1/alert-rules", { body }));
    },
    onSuccess: (rule) => {
      setSaved(true);
      queries.setQueryData(["rule", rule.id], rule);
      queries.invalidateQueries({ queryKey: ["rules"] });
      notifications.show({
        title: rule.enabled ? "Rule enabled" : "Saved as a draft",
        message: rule.enabled
          ? "It evaluates every event from now on."
          : "It does nothing until you enable it.",
        color: "teal",
      });
      // After the page knows that nothing would be lost.
      setTimeout(() => navigate({ to: `/rules/${rule.id}`, search: { tab: "test" } }), 0);
    },
    onError: goToFault,
  });
  const [isAsking, setAsking] = useState(false);
  const [isTried, setTried] = useState(false);
  // What is missing is said once somebody wants to save, and goes away as it is filled in.
  const missing = useMemo(() => (isTried ? missingIn(editing.draft) : []), [isTried, editing.draft]);
  const attempt = (enabled: boolean) => {
    setTried(true);
    if (missingIn(editing.draft).length > 0) goToFault();
    else if (enabled && matchesEverything({ ...editing.draft, enabled })) setAsking(true);
    else save.mutate(enabled);
  };
  const isBlocked = !mayManage || editing.fault !== undefined || save.isPending;
  return (
    <Page
      title="New alert rule"
      lead="Define which events trigger an alert. The preview shows which recent events would have matched."
      actions={
        <Group gap="xs">
          <Button variant="default" disabled={isBlocked} onClick={() => attempt(false)}>
            Save as draft
          </Button>
          <Button disabled={isBlocked} loading={save.isPending} onClick={() => attempt(true)}>
            Save and enable
          </Button>
        </Group>
      }
    >
      {!mayManage && <Alert color="gray">Only admins and owners can create rules.</Alert>}
      {fromEvent && (
        <Alert color="blue" title="Created from an event">
          The conditions come from the event you chose, without its agent and session, so the rule matches
          others too. Edit them as needed.
        </Alert>
      )}
      {note}
      {save.isError && !isSaidInForm(save.error) && (
        <Trouble error={save.error} again={faultsOf(save.error).length > 0 ? undefined : save.reset} />
      )}
      {isAsking && (
        <EveryEvent
          rule={editing.draft}
          action="Save and enable"
          save={() => save.mutate(true)}
          close={() => setAsking(false)}
        />
      )}
      <Workbench
        editing={editing}
        error={save.error}
        missing={missing}
        source={fromEvent}
        isChanged={!isSaved && JSON.stringify(editing.draft) !== JSON.stringify(initial)}
      />
    </Page>
  );
}
