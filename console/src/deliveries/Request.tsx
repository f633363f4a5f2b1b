// What an attempt sent, to the byte, and how to see that its signature is right.
import { Alert, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { Answered } from "../parts/Answered";
import { Snippet, Snippets } from "../parts/Copy";
import { Mark } from "../parts/Mark";
import { Headers } from "./Attempt";
import { inPython, inShell } from "./verify";

interface RequestProps {
  delivery: string;
  attempt: Body<"AttemptBody">;
}

export function Request({ delivery, attempt }: RequestProps) {
  const request = useQuery({
    queryKey: ["delivery", delivery, "request", attempt.id],
    queryFn: () => {
      const path = { id: delivery, attempt_id: attempt.id };
      return answer(api.GET("/v1/deliveries/{id}/attempts/{attempt_id}/request", { params: { path } }));
    },
    // What was sent does not change; only its signatures are told later.
    staleTime: 60_000,
  });
  return <Answered query={request}>{(data) => <Rebuilt request={data} />}</Answered>;
}

function Rebuilt({ request }: { request: Body<"RebuiltRequest"> }) {
  const { method, url, headers, body, proven, notes, signatures } = request;
  const timestamp = headers.find(({ name }) => name === "x-service-timestamp")?.value;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        Request:{" "}
        <span className="mono">
          {method} {url}
        </span>{" "}
        {proven ? <Mark word="ok">proven to the byte</Mark> : <Mark word="error">not proven</Mark>}
      </Text>
      <Text size="xs" className="quiet">
        {proven
          ? "Made again from the record. Its SHA-256 is the one that was recorded when it was sent."
          : "Made again from the record, but it is not known to be what was sent."}
      </Text>
      {notes.length > 0 && (
        <Alert color="gray" p="xs">
          {notes.map((note) => (
            <Text key={note} size="xs">
              {note}
            </Text>
          ))}
        </Alert>
      )}
      <Headers label="Headers of the request" headers={headers} />
      {signatures.length > 0 && (
        <Text size="xs" className="quiet">
          Signed with{" "}
          {signatures
            .map(
              ({ header, secret }) => `${secret === "initial" ? "the initial secret" : secret} (${header})`,
            )
            .join(", ")}
          .
        </Text>
      )}
      {body != null && (
        <>
          <Text size="sm" fw={600}>
            Body, exactly as sent
          </Text>
          <Snippet code={body} of="body" />
        </>
      )}
      {body != null && timestamp && signatures.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            Check the signature yourself
          </Text>
          <Text size="xs" className="quiet">
            Set SECRET to your signing secret and run this. It prints what the header X-Service-Signature of
            this attempt must be.
          </Text>
          <Snippets
            of="verification"
            in={{ Shell: inShell(timestamp, body), Python: inPython(timestamp, body) }}
          />
        </>
      )}
    </Stack>
  );
}
