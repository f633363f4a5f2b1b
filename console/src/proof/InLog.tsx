// Whether a record is in the transparency log, in one line, and its proof to take along.
import { Alert, Anchor, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { number } from "../parts/numbers";
import { save } from "../parts/save";
import { When } from "../parts/When";
import type { Cosigner, Judged } from "./judge";
import { attemptProofs, eventProof, type Proof } from "./log";
import { sentence } from "./words";

interface Recorded {
  id: string;
  /** When it was recorded. */
  at: string;
}

export function EventInLog({ id, at }: Recorded) {
  const { data } = useQuery(eventProof(id));
  return <InLog id={id} at={at} proof={data} />;
}

export function AttemptInLog({
  delivery,
  attempts,
  id,
  at,
}: Recorded & { delivery: string; attempts: number }) {
  const { data } = useQuery(attemptProofs(delivery, attempts));
  return <InLog id={id} at={at} proof={data?.[id]} />;
}

/** What is older has had its chance: a checkpoint is signed about once a second. */
const NOT_YET_MS = 60_000;

/** Nothing is said while it is not known, nor where there is no log: what the screen is about comes first. */
function InLog({ id, at, proof }: Recorded & { proof: Proof | undefined }) {
  if (proof === undefined || proof.is === "no_log") return null;
  if (proof.is === "contradicted") return <Contradicted id={id} {...proof} />;
  if (proof.is === "absent") {
    const isRecent = Date.now() - Date.parse(at) < NOT_YET_MS;
    return (
      <Text size="xs" className="quiet" data-in-log="absent">
        {isRecent ? "In the log: not yet" : `Not in the log. ${proof.why}`}
      </Text>
    );
  }
  const { index, size, cosigners } = proof;
  return (
    <Text size="xs" className="quiet" component="div" data-in-log="yes">
      In the log: entry {number(index)} · in the checkpoint of {number(size)} entries
      {cosigners.map((cosigner) => (
        <Cosigned key={cosigner.name} {...cosigner} />
      ))}{" "}
      · <Download id={id} proof={proof.proof} />
    </Text>
  );
}

function Cosigned({ name, at }: Cosigner) {
  return (
    <span title="This page does not have the witness's key, so it did not check the cosignature.">
      {" "}
      · cosigned by {name}
      {at !== "" && (
        <>
          {" "}
          at <When at={at} exact />
        </>
      )}
    </span>
  );
}

function Contradicted({ id, why, proof }: { id: string } & Judged & { is: "contradicted" }) {
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle />}
      title="This is not what the log committed to"
      data-in-log="contradicted"
    >
      <Text size="sm">
        {sentence(why)} Somebody may have changed it after it was recorded. Export the trail as a bundle and
        verify it.
      </Text>
      <Download id={id} proof={proof} />
    </Alert>
  );
}

function Download({ id, proof }: { id: string; proof: string }) {
  const file = () => save(new Blob([proof], { type: "text/plain" }), `${id}.tlog-proof`);
  return (
    <Anchor component="button" type="button" inherit size="xs" onClick={file}>
      Download proof
    </Anchor>
  );
}
