// Sends a test alert to a rule's receiver and follows its delivery.
import { Code, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { STATE_WORDS } from "../deliveries/states";
import { Answered, Trouble } from "../parts/Answered";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";

/** While the outcome is awaited: a delivery takes less than a second where the receiver is well. */
const ASK_EVERY_MS = 1_000;

export function TestDelivery({ rule, isChanged }: { rule: Body<"Rule">; isChanged: boolean }) {
  const send = useMutation({
    mutationFn: () =>
      answer(api.POST("/v1/alert-rules/{id}/trigger", { params: { path: { id: rule.id } }, body: {} })),
  });
  return (
    <Stack gap="sm">
      <Text size="sm" className="quiet">
        Sends a sample event that matches the rule to <Code>{rule.url}</Code>, signed and recorded like any
        alert. The receiver can recognize it by <Code>X-Service-Trigger: test</Code>.
      </Text>
      {isChanged && <Text size="sm">Your changes are not saved yet. The test uses the saved rule.</Text>}
      <div>
        <ManageButton size="xs" loading={send.isPending} onClick={() => send.mutate()}>
          Send a test alert
        </ManageButton>
      </div>
      {send.isError && <Trouble error={send.error} again={() => send.mutate()} />}
      {send.data && <Outcome id={send.data.delivery_id} />}
    </Stack>
  );
}

function Outcome({ id }: { id: string }) {
  const delivery = useQuery({
    queryKey: ["delivery", id],
    queryFn: () => answer(api.GET("/v1/deliveries/{id}", { params: { path: { id } } })),
    // It is on record a moment after it was asked for.
    retry: 5,
    retryDelay: ASK_EVERY_MS,
    refetchInterval: ({ state }) =>
      state.data === undefined || ["pending", "scheduled"].includes(state.data.state) ? ASK_EVERY_MS : false,
  });
  return (
    <Answered query={delivery}>
      {(data) => {
        const last = data.attempt_log.at(-1);
        return (
          <Stack gap="xs" className="surface" p="sm" data-outcome={data.state}>
            <Group gap="xs">
              <Mark word={data.state}>{STATE_WORDS[data.state]}</Mark>
              {last?.status && <Text size="sm">returned {last.status}</Text>}
              <Text size="xs" className="quiet">
                <When at={data.matched_at} />
              </Text>
            </Group>
            <Text size="sm">{data.explanation}</Text>
            {last?.answer && (
              <Code
                block
                mah={160}
                style={{ overflow: "auto" }}
                tabIndex={0}
                aria-label="Response"
                role="region"
              >
                {last.answer}
              </Code>
            )}
            <To path={`/deliveries/${id}`}>View delivery</To>
          </Stack>
        );
      }}
    </Answered>
  );
}
