// Guard settings beside the policies: what happens when decisions cannot be recorded, and approval times.
import { Button, Group, NumberInput, Radio, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { queries, useMayManage } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { duration } from "../parts/clock";
import { standing } from "./queries";

/** What the server takes, in seconds: ten of them to seven days. */
const [LEAST_S, MOST_S] = [10, 604_800];

type Timed = "approval_timeout_s" | "approval_valid_s";

/** What is chosen; a time that is being written may be empty for a moment. */
type Chosen = Omit<Body<"PolicySettings">, Timed> & Record<Timed, number | "">;

export function Settings({ settings }: { settings: Body<"PolicySettings"> }) {
  const mayManage = useMayManage();
  const [chosen, setChosen] = useState<Chosen>(settings);
  const save = useMutation({
    mutationFn: () => answer(api.PATCH("/v1/policies", { body: chosen as Body<"PolicySettings"> })),
    onSuccess: (now) => {
      queries.setQueryData(standing.queryKey, now);
      setChosen(now.settings);
      notifications.show({ title: "Settings saved", message: "They are in effect now.", color: "teal" });
    },
  });
  const faults = save.error instanceof Problem ? (save.error.faults ?? []) : [];
  const isOther = JSON.stringify(chosen) !== JSON.stringify(settings);
  const isWhole = chosen.approval_timeout_s !== "" && chosen.approval_valid_s !== "";
  const seconds = (name: Timed, label: string, description: string) => (
    <NumberInput
      label={label}
      description={
        chosen[name] === "" ? description : `${description} Currently ${duration(chosen[name] * 1_000)}.`
      }
      suffix=" s"
      min={LEAST_S}
      max={MOST_S}
      allowDecimal={false}
      thousandSeparator=","
      value={chosen[name]}
      onChange={(value) => setChosen({ ...chosen, [name]: value === "" ? "" : Number(value) })}
      error={
        chosen[name] === ""
          ? "Enter a number of seconds."
          : faults.find(({ pointer }) => pointer === `/${name}`)?.detail
      }
      disabled={!mayManage}
      maw={420}
    />
  );
  const allowed = (
    name: "shadow_mode_allowed" | "self_approval_allowed",
    label: string,
    description: string,
  ) => (
    <Switch
      label={label}
      description={description}
      checked={chosen[name]}
      onChange={({ currentTarget }) => setChosen({ ...chosen, [name]: currentTarget.checked })}
      disabled={!mayManage}
    />
  );
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <Radio.Group
          label="If a decision cannot be recorded"
          description="For example, when the journal is down."
          value={chosen.fail_mode}
          onChange={(fail_mode) => setChosen({ ...chosen, fail_mode })}
        >
          <Stack gap="xs" mt="xs">
            <Radio
              value="closed"
              label="Closed: return an error"
              description="Agents get an error and should not proceed. Nothing happens without being recorded."
              disabled={!mayManage}
            />
            <Radio
              value="open"
              label="Open: answer anyway"
              description="The policies still decide, so agents keep working. The answer is marked as a fallback and is not recorded."
              disabled={!mayManage}
            />
          </Stack>
        </Radio.Group>
        <Stack gap="md">
          {seconds(
            "approval_timeout_s",
            "Time to approve",
            "How long a person has to answer. After that, the request is denied automatically.",
          )}
          {seconds(
            "approval_valid_s",
            "Time to use an approval",
            "How long an agent can use an approval. It can be used once.",
          )}
          {allowed(
            "shadow_mode_allowed",
            "Allow shadow mode in requests",
            "An agent that requests it is allowed everything. The answer of the policies is returned and recorded.",
          )}
          {allowed(
            "self_approval_allowed",
            "Allow keys to approve their own requests",
            "An API key that can ask and approve could then do both on its own.",
          )}
        </Stack>
      </SimpleGrid>
      {save.isError && faults.length === 0 && <Trouble error={save.error} />}
      <Group>
        <Button
          size="xs"
          onClick={() => save.mutate()}
          loading={save.isPending}
          disabled={!mayManage || !isOther || !isWhole}
        >
          Save
        </Button>
        {!mayManage && (
          <Text size="sm" className="quiet">
            Only admins and owners can change settings.
          </Text>
        )}
      </Group>
    </Stack>
  );
}
