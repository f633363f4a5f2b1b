// Recent bulk resends and their progress.
import { Box, Group, Progress, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { allRules } from "../alerts/all";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { STATE_WORDS } from "./states";

type Recovery = Body<"Recovery">;

/** While one runs; afterwards nothing changes by itself. */
const ASK_EVERY_MS = 5_000;

export function Recoveries() {
  const recoveries = useQuery({
    queryKey: ["recoveries"],
    queryFn: () => answer(api.GET("/v1/recoveries", { params: { query: { limit: 20 } } })),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.state === "running") ? ASK_EVERY_MS : false,
  });
  return (
    <Box>
      <Title order={3} size="h5" mb="xs">
        Recent bulk resends
      </Title>
      <Answered
        query={recoveries}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <Text size="sm" className="quiet" data-state="empty">
            No bulk resends yet. Those you start here are listed with their progress.
          </Text>
        }
      >
        {({ data }) => (
          <Stack gap="xs">
            {data.map((recovery) => (
              <Row key={recovery.id} recovery={recovery} />
            ))}
          </Stack>
        )}
      </Answered>
    </Box>
  );
}

function Row({ recovery }: { recovery: Recovery }) {
  const { id, state, done, skipped, total } = recovery;
  const rules = useQuery(allRules);
  const cancel = useMutation({
    mutationFn: () => answer(api.POST("/v1/recoveries/{id}/cancel", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["recoveries"] }),
  });
  const name = rules.data?.data.find((rule) => rule.id === recovery.rule_id)?.name ?? recovery.rule_id;
  const percent = total
    ? Math.min(Math.round(((done + skipped) / total) * 100), 100)
    : state === "done"
      ? 100
      : 0;
  return (
    <Box className="surface" p="xs" data-recovery={state}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={600} className="truncate">
          {name}
        </Text>
        <Mark word={state}>{STATE_WORDS[state]}</Mark>
      </Group>
      <Progress
        my={6}
        value={percent}
        color={state === "failed" ? "red" : undefined}
        aria-label={`${name}: ${percent}% resent`}
      />
      <Group justify="space-between" gap="xs">
        <Text size="xs" className="quiet">
          {done.toLocaleString("en")}
          {total != null && ` of ${total.toLocaleString("en")}`} resent
          {skipped > 0 && `, ${skipped.toLocaleString("en")} skipped`}; started{" "}
          <When at={recovery.started_at} /> by <Who id={recovery.asked_by} />
        </Text>
        {state === "running" && (
          <ManageButton
            size="compact-xs"
            variant="default"
            loading={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Stop
          </ManageButton>
        )}
      </Group>
      {recovery.error && <Text size="xs">{recovery.error}</Text>}
      {cancel.isError && <Trouble error={cancel.error} />}
    </Box>
  );
}
