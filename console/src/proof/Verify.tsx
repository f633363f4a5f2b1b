// Verifies an export in the browser: nothing is sent anywhere, and nobody needs to be signed in.
import { Alert, Anchor, Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { duration } from "../parts/clock";
import { docs } from "../parts/docs";
import { bytes } from "../parts/numbers";
import { Page, Panel } from "../parts/Page";
import { DropZone } from "./DropZone";
import { Outcome } from "./Outcome";
import { Progress } from "./Progress";
import { TrustFields } from "./TrustFields";
import { type Faults, faultsOf, hasFaults, NO_TRUST, optionsOf, type Trust } from "./trust";
import { useVerifier } from "./verifier";

export default function Verify() {
  const [trust, setTrust] = useState<Trust>(NO_TRUST);
  const [faults, setFaults] = useState<Faults>({});
  const [file, setFile] = useState<File>();
  /** What the last check was made with. */
  const [checked, setChecked] = useState<Trust>();
  const { state, verify, cancel } = useVerifier();
  const fields = useRef<HTMLDivElement>(null);
  const start = (chosen: File) => {
    setFile(chosen);
    const found = faultsOf(trust);
    setFaults(found);
    if (hasFaults(found)) return;
    setChecked(trust);
    verify(chosen, optionsOf(trust));
  };
  useEffect(() => {
    if (hasFaults(faults)) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [faults]);
  return (
    <Page
      title="Verify an export"
      lead={
        <>
          Checks that an export of the format <code>bundle</code> is complete, unchanged and in order. The
          file stays in this browser.
        </>
      }
    >
      <DropZone onFile={start} />
      {state.is === "running" && (
        <Progress
          file={state.file}
          bytesRead={state.bytes}
          onCancel={() => {
            setChecked(undefined);
            cancel();
          }}
        />
      )}
      {state.is === "failed" && <Failed message={state.message} />}
      {state.is === "done" && (
        <Stack gap="xs">
          <Text size="sm" className="quiet" style={{ overflowWrap: "anywhere" }}>
            {state.file.name}, {bytes(state.file.size)}, checked in {duration(state.tookMs)}
          </Text>
          <Outcome report={state.report} />
        </Stack>
      )}
      <Panel title="What you trust already">
        <div ref={fields}>
          <TrustFields
            trust={trust}
            faults={faults}
            onChange={(next) => {
              setTrust(next);
              setFaults({});
            }}
          />
        </div>
        {file !== undefined && state.is !== "running" && (
          <Group mt="md">
            <Button onClick={() => start(file)} disabled={trust === checked}>
              {checked === undefined ? `Verify ${file.name}` : "Verify again"}
            </Button>
          </Group>
        )}
      </Panel>
      <Text size="xs" className="quiet">
        This page comes from the server that you loaded it from. To check somebody who runs that server, use a
        program that you got elsewhere: <Code>watchbell trail verify FILE</Code>, or{" "}
        <Anchor href={docs("how-to/audit.md")} size="xs">
          the verifiers for Python and TypeScript
        </Anchor>
        .
      </Text>
    </Page>
  );
}

function Failed({ message }: { message: string }) {
  return (
    <Alert color="red" icon={<IconAlertTriangle />} title="The check failed" role="alert" data-state="error">
      <Text size="sm">This says nothing about the file: {message}</Text>
    </Alert>
  );
}
