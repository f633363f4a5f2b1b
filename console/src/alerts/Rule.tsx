// One rule: its activity, and everything that can be changed about it.
import { Alert, Button, Group, Menu, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconDots } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { queries, useMayManage } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { counted } from "../parts/numbers";
import { Page } from "../parts/Page";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { Conflict } from "./Conflict";
import { DeleteRule } from "./DeleteRule";
import { type Draft, draftOf, useDraft } from "./draft";
import { EveryEvent, matchesEverything } from "./EveryEvent";
import { goToFault, isSaidInForm, missingIn } from "./faults";
import { History } from "./History";
import { States } from "./States";
import { TestDelivery } from "./TestDelivery";
import { Workbench } from "./Workbench";

export default function Rule() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const rule = useQuery({
    queryKey: ["rule", id],
    queryFn: () => answer(api.GET("/v1/alert-rules/{id}", { params: { path: { id } } })),
    // Under the hands of who edits it nothing changes; a save is told if somebody was faster.
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const answered = <Answered query={rule}>{(data) => <Loaded key={id} rule={data} />}</Answered>;
  return rule.data ? answered : <Page title="Alert rule">{answered}</Page>;
}

function Loaded({ rule }: { rule: Body<"Rule"> }) {
  const saved = draftOf(rule);
  const editing = useDraft(saved);
  const mayManage = useMayManage();
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const take = (next: Body<"Rule">, draft?: Draft) => {
    queries.setQueryData(["rule", next.id], next);
    queries.invalidateQueries({ queryKey: ["rules"] });
    queries.invalidateQueries({ queryKey: ["rule-versions", next.id] });
    editing.reset(draft ?? draftOf(next));
  };
  const save = useMutation({
    mutationFn: ({ draft, version }: { draft: Draft; version: number }) =>
      answer(
        api.PUT("/v1/alert-rules/{id}", {
          params: { path: { id: rule.id }, header: { "If-Match": `"${version}"` } },
          body: draft as unknown as Body<"NewRule">,
        }),
      ),
    onSuccess: (next) => {
      take(next);
      notifications.show({ title: "Saved", message: `Version ${next.version} is in effect.`, color: "teal" });
    },
  });
  const [asking, setAsking] = useState<Draft>();
  const missing = useMemo(() => missingIn(editing.draft), [editing.draft]);
  /** Saves, unless something is missing or every event would be sent from now on. */
  const attempt = (draft: Draft) => {
    if (missingIn(draft).length > 0) goToFault();
    else if (matchesEverything(draft) && !matchesEverything(saved)) setAsking(draft);
    else save.mutate({ draft, version: rule.version });
  };
  const isChanged = JSON.stringify(editing.draft) !== JSON.stringify(saved);
  const isConflict = isConflictOf(save.error);
  const isBlocked = !mayManage || editing.fault !== undefined || save.isPending;
  return (
    <Page
      title={rule.name}
      lead={<Standing rule={rule} />}
      actions={
        <Group gap="xs">
          <Button
            variant="default"
            disabled={isBlocked || isChanged}
            title={isChanged ? "Save or undo your changes first" : undefined}
            onClick={() => attempt({ ...saved, enabled: !rule.enabled })}
          >
            {rule.enabled ? "Disable" : "Enable"}
          </Button>
          {isChanged && (
            <Button variant="default" onClick={() => editing.reset(saved)}>
              Undo changes
            </Button>
          )}
          <Button
            disabled={isBlocked || !isChanged}
            loading={save.isPending}
            onClick={() => attempt(editing.draft)}
          >
            Save
          </Button>
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default" px="xs" aria-label="More actions">
                <IconDots size={16} />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                disabled={!mayManage}
                onClick={() => navigate({ to: "/rules/new", search: { copy: rule.id } as never })}
              >
                Duplicate rule
              </Menu.Item>
              <Menu.Item disabled={!mayManage} onClick={() => setDeleting(true)}>
                Delete rule…
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      }
    >
      {!mayManage && <Alert color="gray">Only admins and owners can change rules.</Alert>}
      {isConflict ? (
        <Conflict
          mine={save.variables?.draft ?? editing.draft}
          id={rule.id}
          onTake={(theirs) => {
            save.reset();
            take(theirs);
          }}
          onOverwrite={(version) => save.mutate({ draft: save.variables?.draft ?? editing.draft, version })}
          onKeep={save.reset}
        />
      ) : (
        save.isError && !isSaidInForm(save.error) && <Trouble error={save.error} />
      )}
      {asking && (
        <EveryEvent
          rule={asking}
          action="Save"
          save={() => save.mutate({ draft: asking, version: rule.version })}
          close={() => setAsking(undefined)}
        />
      )}
      <Workbench
        editing={editing}
        error={save.error}
        missing={missing}
        isChanged={isChanged}
        more={{
          test: <TestDelivery rule={rule} isChanged={isChanged} />,
          history: (
            <History
              id={rule.id}
              current={rule.version}
              onRollBack={(definition) => attempt(draftOf(definition))}
              isBusy={isBlocked}
            />
          ),
        }}
      />
      <DeleteRule rule={rule} isOpen={isDeleting} onClose={() => setDeleting(false)} />
    </Page>
  );
}

/** Whether somebody saved the rule meanwhile. A rule can be refused for what it is, too. */
function isConflictOf(error: unknown): boolean {
  return error instanceof Problem && (error.status === 412 || error.code === "CONFLICT");
}

/** How the rule does, in a line. */
function Standing({ rule }: { rule: Body<"Rule"> }) {
  const { stats } = rule;
  return (
    <Group gap="xs" mt={4}>
      <States rule={rule} />
      <Id id={rule.id} />
      <Text size="sm" className="quiet" component="span">
        version {rule.version}, changed <When at={rule.updated_at} /> by <Who id={rule.updated_by} />
      </Text>
      <Text size="sm" component="span">
        <To path="/deliveries" with={{ rule_id: rule.id }}>
          {counted(stats.alerts_24h, "alert")} in 24 h
        </To>{" "}
        from {counted(stats.matched_24h, "match", "matches")}
      </Text>
    </Group>
  );
}
