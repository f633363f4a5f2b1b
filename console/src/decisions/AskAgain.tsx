// Asks the question of a decision again, changed or not, against past, current or edited policies.
import { Alert, Button, Checkbox, Group, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { useMayManage } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { Json } from "../parts/Json";
import { Mark } from "../parts/Mark";
import { Editor } from "../policies/Editor";
import { standing, version as versionQuery } from "../policies/queries";
import { type Decision, readJson } from "./model";

/** Whose word is asked for: a version by its number, or policies that are not saved. */
type Of = { version: number } | { policies: string; schema?: string };

export function AskAgain({ decision }: { decision: Decision }) {
  const query = useQuery(standing);
  return (
    <Answered query={query}>{({ active }) => <Form decision={decision} active={active.version} />}</Answered>
  );
}

function Form({ decision, active }: { decision: Decision; active: number }) {
  const { metadata } = decision;
  const then = metadata.policy_version ?? active;
  const [whom, setWhom] = useState("active");
  const [policies, setPolicies] = useState<string>();
  const [question, setQuestion] = useState(JSON.stringify(metadata.question, null, 2));
  const [payload, setPayload] = useState("");
  const [approved, setApproved] = useState(metadata.approval !== undefined);
  const mayManage = useMayManage();
  // What is edited starts from what is in force.
  const current = useQuery({ ...versionQuery(active), enabled: whom === "edited" });
  const edited = policies ?? current.data?.policies ?? "";
  const of: Of =
    whom === "edited"
      ? { policies: edited, schema: current.data?.schema ?? undefined }
      : { version: whom === "then" ? then : active };
  const asked = readJson(question);
  const sent = payload.trim() === "" ? { value: undefined } : readJson(payload);
  const ask = useMutation({
    mutationFn: () => {
      if ("wrong" in asked || "wrong" in sent) throw new Error("The question is not valid JSON.");
      const body = { ...of, question: asked.value, payload: sent.value, approved };
      return answer(api.POST("/v1/policies/test", { body: body as Body<"PolicyTrial"> }));
    },
  });
  const versions = [
    { value: "active", label: `Version ${active} (active)` },
    ...(then === active ? [] : [{ value: "then", label: `Version ${then} (made this decision)` }]),
    { value: "edited", label: "Edited policies (not saved)" },
  ];
  return (
    <Stack gap="sm">
      <Text size="sm" className="quiet">
        Change the question or the policies to see how the answer changes. Nothing is recorded, and no one is
        asked for approval.
      </Text>
      <Select
        label="Evaluate against"
        data={versions}
        value={whom}
        onChange={(next) => setWhom(next ?? "active")}
        allowDeselect={false}
      />
      {whom === "edited" && (
        <Editor label="Policies" language="cedar" value={edited} onChange={setPolicies} rows={12} />
      )}
      <Editor
        label="Question"
        value={question}
        onChange={setQuestion}
        rows={12}
        error={"wrong" in asked ? `Not valid JSON: ${asked.wrong}` : undefined}
      />
      <Editor
        label="Payload"
        description="What the agent is about to send, as JSON. Leave blank for none. It is not recorded."
        value={payload}
        onChange={setPayload}
        rows={3}
        error={"wrong" in sent ? `Not valid JSON: ${sent.wrong}` : undefined}
      />
      <Checkbox
        label="Simulate an approval"
        checked={approved}
        onChange={(event) => setApproved(event.currentTarget.checked)}
      />
      <Group>
        <Button
          onClick={() => ask.mutate()}
          loading={ask.isPending}
          disabled={!mayManage || "wrong" in asked || "wrong" in sent}
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
      {ask.data && <Compared decision={decision} now={ask.data} />}
    </Stack>
  );
}

interface ComparedProps {
  decision: Decision;
  now: Body<"PolicyTrialResult">;
}

/** What was answered, beside what would be. */
function Compared({ decision, now }: ComparedProps) {
  const { metadata } = decision;
  const isSame = now.decision === metadata.decision;
  const ids = now.policies.map(({ id }) => id);
  return (
    <Alert
      role="status"
      color={isSame ? "gray" : "yellow"}
      title={isSame ? "Same answer" : "Different answer"}
      data-testid="compared"
    >
      <Stack gap={6}>
        <Said
          name="Recorded"
          verdict={metadata.decision}
          by={metadata.policies ?? []}
          reason={metadata.reason}
        />
        <Said name="Now" verdict={now.decision} by={ids} reason={now.reason} />
        {now.errors.map(({ id, error }) => (
          <Text size="sm" key={`${id}${error}`}>
            <span className="mono">{id}</span> could not be evaluated: {error}
          </Text>
        ))}
        {now.modified_payload != null && (
          <>
            <Text size="sm">The payload would become</Text>
            <Json value={now.modified_payload} />
          </>
        )}
      </Stack>
    </Alert>
  );
}

interface SaidProps {
  name: string;
  verdict: string | undefined;
  by: string[];
  reason: string | undefined;
}

function Said({ name, verdict = "unknown", by, reason }: SaidProps) {
  return (
    <Group gap="xs" align="baseline">
      <Text size="sm" w={70}>
        {name}
      </Text>
      <Mark word={verdict} />
      <Text size="sm">
        {reason} {by.length > 0 && <span className="mono">({by.join(", ")})</span>}
      </Text>
    </Group>
  );
}
