// Asks the policies being written: may agent X do Y on Z?
import { Button, Checkbox, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { useMayManage } from "../api/queries";
import { readJson } from "../decisions/model";
import { Trouble } from "../parts/Answered";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";
import { bodyOf, type Draft } from "./draft";
import { Editor } from "./Editor";

export function Ask({ draft }: { draft: Draft }) {
  const mayManage = useMayManage();
  const [agent, setAgent] = useState("billing-agent");
  const [action, setAction] = useState("payments.refund");
  const [resource, setResource] = useState("invoice:4711");
  const [context, setContext] = useState('{ "amount": 500 }');
  const [approved, setApproved] = useState(false);
  const read = context.trim() === "" ? { value: {} } : readJson(context);
  const ask = useMutation({
    mutationFn: () => {
      if ("wrong" in read) throw new Error(read.wrong);
      const { policies, schema } = bodyOf(draft);
      const question = { agent_id: agent, action, resource: resource || undefined, context: read.value };
      const body = { policies, schema, question, approved } as unknown as Body<"PolicyTrial">;
      return answer(api.POST("/v1/policies/test", { body }));
    },
  });
  return (
    <Panel title="Ask a question">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask.mutate();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="May agent"
            value={agent}
            onChange={(event) => setAgent(event.currentTarget.value)}
          />
          <TextInput label="do" value={action} onChange={(event) => setAction(event.currentTarget.value)} />
          <TextInput
            label="on"
            description="As type:id, or blank"
            value={resource}
            onChange={(event) => setResource(event.currentTarget.value)}
          />
          <Editor
            label="in this context"
            value={context}
            onChange={setContext}
            rows={4}
            error={"wrong" in read ? `Not valid JSON: ${read.wrong}` : undefined}
          />
          <Checkbox
            label="Simulate an approval"
            checked={approved}
            onChange={(event) => setApproved(event.currentTarget.checked)}
          />
          <Group>
            <Button
              type="submit"
              variant="default"
              loading={ask.isPending}
              disabled={!mayManage || "wrong" in read || agent === "" || action === ""}
            >
              Ask
            </Button>
            {!mayManage && (
              <Text size="sm" className="quiet">
                Only admins and owners can test policies.
              </Text>
            )}
          </Group>
          {ask.isError && <Trouble error={ask.error} again={() => ask.mutate()} />}
          {ask.data && <Answer of={ask.data} />}
        </Stack>
      </form>
    </Panel>
  );
}

function Answer({ of }: { of: Body<"PolicyTrialResult"> }) {
  const by = of.policies.map(({ id, effect }) => `${id} (${effect})`).join(", ");
  return (
    <Stack gap={4} role="status" data-testid="answer">
      <Group gap="xs">
        <Mark word={of.decision} />
        <Text size="sm">{of.reason}</Text>
      </Group>
      <Text size="sm" className="quiet">
        {by === "" ? "No policy decided." : `Decided by ${by}.`}
      </Text>
      {of.errors.map(({ id, error }) => (
        <Text size="sm" key={`${id}${error}`}>
          <span className="mono">{id}</span> could not be evaluated: {error}
        </Text>
      ))}
      {of.modified_payload != null && <Json value={of.modified_payload} />}
    </Stack>
  );
}
