// What an attempt sent, byte for byte, and how to verify its signature.
import { Alert, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { Answered } from "../parts/Answered";
import { Snippet, Snippets } from "../parts/Copy";
import { Mark } from "../parts/Mark";
import { Headers } from "./Attempt";
import { aboutCurl, inCurl, inPython, inShell } from "./verify";

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
        {proven ? <Mark word="ok">byte-for-byte match</Mark> : <Mark word="error">not verified</Mark>}
      </Text>
      <Text size="xs" className="quiet">
        {proven
          ? "Rebuilt from the record. Its SHA-256 matches the one recorded when it was sent."
          : "Rebuilt from the record, but not confirmed to be what was sent."}
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
      <Headers label="Request headers" headers={headers} />
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
            {proven ? "Body, exactly as sent" : "Body, as rebuilt"}
          </Text>
          <Snippet code={body} of="body" />
          <Text size="sm" fw={600}>
            Send it again with curl
          </Text>
          <Text size="xs" className="quiet">
            {aboutCurl(request)}
          </Text>
          <Snippet code={inCurl(request, body)} of="curl command" />
        </>
      )}
      {body != null && proven && timestamp && signatures.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            Check the signature yourself
          </Text>
          <Text size="xs" className="quiet">
            Set SECRET to your signing secret and run this. It prints the X-Service-Signature header that this
            attempt must have.
          </Text>
          <Snippets
            of="verification code"
            in={{ Shell: inShell(timestamp, body), Python: inPython(timestamp, body) }}
          />
        </>
      )}
    </Stack>
  );
}
