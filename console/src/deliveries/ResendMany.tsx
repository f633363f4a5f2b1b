// Resends the deliveries of a time range: counts them, asks for confirmation, then runs in the background.
import { Alert, Button, Checkbox, Drawer, Group, Select, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAddress } from "../address";
import { allRules } from "../alerts/all";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { ManageButton } from "../parts/ManageButton";
import { TimeRange, timesOf } from "../parts/TimeRange";
import { one } from "../search";
import { Recoveries } from "./Recoveries";
import { STATE_WORDS, USUAL } from "./states";

export function ResendMany({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      title="Resend deliveries in bulk"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Ask />
        <Recoveries />
      </Stack>
    </Drawer>
  );
}

const STATES = ["failed", "held", "canceled", "delivered"];

/** What is asked for; the count is of exactly this. */
interface RecoveryRequest {
  rule: string;
  since: string;
  until: string;
  states: string[];
}

function Ask() {
  const [search] = useAddress();
  const [rule, setRule] = useState<string | null>(one(search.rule_id) ?? null);
  const [range, setRange] = useState({ last: one(search.last), from: one(search.from), to: one(search.to) });
  const [states, setStates] = useState(["failed", "held"]);
  const rules = useQuery(allRules);
  const count = useMutation({
    mutationFn: async (wanted: RecoveryRequest) => ({
      wanted,
      ...((await recover(wanted, true)) as Body<"RecoverCount">),
    }),
  });
  const resend = useMutation({
    mutationFn: async (wanted: RecoveryRequest) => (await recover(wanted, false)) as Body<"Recovery">,
    onSuccess: () => {
      count.reset();
      queries.invalidateQueries({ queryKey: ["recoveries"] });
      notifications.show({
        title: "Started",
        message: "The deliveries are being resent in the background.",
        color: "teal",
      });
    },
  });
  const ask = () => {
    const { from, to } = timesOf(range, USUAL);
    resend.reset();
    count.mutate({ rule: rule ?? "", since: from, until: to ?? new Date().toISOString(), states });
  };
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      count.reset();
    };
  return (
    <Stack gap="sm">
      <Select
        label="Rule"
        placeholder="Choose a rule"
        searchable
        data={(rules.data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        value={rule}
        onChange={change(setRule)}
      />
      <div>
        <Text size="sm" fw={500} mb={4}>
          Matched during
        </Text>
        <TimeRange
          range={range}
          usual={USUAL}
          onChange={change(({ last, from, to }) => setRange({ last, from, to }))}
        />
      </div>
      <Checkbox.Group label="Current state" value={states} onChange={change(setStates)}>
        <Group mt={4}>
          {STATES.map((state) => (
            <Checkbox key={state} value={state} label={STATE_WORDS[state] ?? state} />
          ))}
        </Group>
      </Checkbox.Group>
      <Text size="xs" className="quiet">
        Deliveries held by an open breaker resume automatically and are skipped. Each delivery keeps its ID,
        so a receiver that already has it can recognize it.
      </Text>
      <div>
        <ManageButton
          because={
            rule === null ? "Choose a rule first." : states.length === 0 ? "Choose a state first." : undefined
          }
          variant={count.data ? "default" : "filled"}
          loading={count.isPending}
          onClick={ask}
        >
          Count deliveries
        </ManageButton>
      </div>
      {count.isError && <Trouble error={count.error} again={ask} />}
      {resend.isError && <Trouble error={resend.error} />}
      {count.data && (
        <Confirm
          counted={count.data}
          isBusy={resend.isPending}
          onConfirm={() => resend.mutate(count.data.wanted)}
        />
      )}
    </Stack>
  );
}

interface ConfirmProps {
  counted: Body<"RecoverCount">;
  isBusy: boolean;
  onConfirm: () => void;
}

function Confirm({ counted: { count, by_state }, isBusy, onConfirm }: ConfirmProps) {
  if (count === 0)
    return <Alert color="gray">No matching deliveries in this time range. Nothing would be sent.</Alert>;
  const parts = Object.entries(by_state).map(
    ([state, many]) => `${many.toLocaleString("en")} ${STATE_WORDS[state] ?? state}`,
  );
  return (
    <Alert color="blue" title={`${count.toLocaleString("en")} would be resent`} data-count={count}>
      <Text size="sm" mb="sm">
        {parts.join(", ")}. They go to the rule's current URL, one after another, each with a new retry
        schedule.
      </Text>
      <Button size="xs" loading={isBusy} onClick={onConfirm}>
        Resend {count.toLocaleString("en")}
      </Button>
    </Alert>
  );
}

function recover({ rule, since, until, states }: RecoveryRequest, dry_run: boolean) {
  return answer(
    api.POST("/v1/alert-rules/{id}/recover", {
      params: { path: { id: rule } },
      body: { since, until, states: states as Body<"RecoverableState">[], dry_run },
    }),
  );
}
