// Signing secrets, and rotating one without losing a delivery.
import { Group, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Answered, Trouble } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { ShownOnce } from "../parts/ShownOnce";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { Rotation } from "./Rotation";
import { stepOf } from "./rotation";
import { DropSecret, PromoteSecret } from "./SecretSteps";

export default function Secrets() {
  const secrets = useQuery({
    queryKey: ["signing-secrets"],
    queryFn: () => answer(api.GET("/v1/signing-secrets")),
  });
  const stage = useMutation({
    mutationFn: () => answer(api.POST("/v1/signing-secrets")),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["signing-secrets"] }),
  });
  const isStaged = secrets.data !== undefined && stepOf(secrets.data) === 1;
  return (
    <Page
      title="Signing secrets"
      lead="Every webhook is signed, so a receiver can verify that it came from you and was not altered in transit."
      actions={
        <ManageButton
          because={isStaged ? "A secret is already staged. Promote or drop it first." : undefined}
          loading={stage.isPending}
          onClick={() => stage.mutate()}
        >
          Stage a new secret
        </ManageButton>
      }
    >
      {stage.isError && <Trouble error={stage.error} />}
      {stage.data && (
        <ShownOnce
          title="Copy the new secret now"
          of="signing secret"
          secret={stage.data.secret}
          close={stage.reset}
        >
          Add it to your receivers next to the current one. It is not used for the main signature until you
          promote it.
        </ShownOnce>
      )}
      <Answered query={secrets}>
        {(list) => (
          <>
            <Rotation list={list} />
            <List list={list} />
          </>
        )}
      </Answered>
    </Page>
  );
}

const MEANINGS: Record<string, string> = {
  staged: "Signs as X-Service-Signature-Next, so receivers can test it.",
  current: "Signs as X-Service-Signature.",
  previous: "Still signs, as X-Service-Signature-Previous.",
  dropped: "No longer signs.",
};

function List({ list: { data, initial } }: { list: Body<"SecretList"> }) {
  return (
    <Panel title="Secrets">
      <Stacked label="Signing secrets" head={["Secret", "State", "Created", "Promoted", "Expires", ""]}>
        {data.map((secret) => (
          <Row key={secret.id} secret={secret} />
        ))}
        {initial && <InitialRow initial={initial} />}
      </Stacked>
      {data.length === 0 && (
        <Text size="sm" className="quiet" mt="sm" data-state="empty">
          {initial
            ? "Webhooks are signed with your organization's initial secret. Stage a new one whenever you want to rotate it."
            : "Webhooks are not signed at the moment. Stage a secret, then promote it."}
        </Text>
      )}
    </Panel>
  );
}

/** The secret from the start, which can be shown again. */
function InitialRow({ initial }: { initial: Body<"InitialBody"> }) {
  const show = useMutation({ mutationFn: () => answer(api.GET("/v1/signing-secrets/initial")) });
  return (
    <Table.Tr>
      <Table.Td data-label="Secret">
        {show.data ? <Id id={show.data.secret} /> : "the initial secret"}
        {show.isError && <Trouble error={show.error} />}
      </Table.Td>
      <StateCell state={initial.state} />
      <Table.Td data-label="Created">
        <span className="quiet">with the organization</span>
      </Table.Td>
      <Table.Td data-label="Promoted" />
      <Table.Td data-label="Expires">{initial.ends_at && <When at={initial.ends_at} />}</Table.Td>
      <Table.Td data-label="">
        {!show.data && (
          <ManageButton
            size="compact-xs"
            variant="default"
            loading={show.isPending}
            onClick={() => show.mutate()}
          >
            Show
          </ManageButton>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function StateCell({ state }: { state: string }) {
  return (
    <Table.Td data-label="State">
      <div>
        <Mark word={state} />
        <Text size="xs" className="quiet">
          {MEANINGS[state]}
        </Text>
      </div>
    </Table.Td>
  );
}

function Row({ secret }: { secret: Body<"SecretBody"> }) {
  const [asking, setAsking] = useState<"promote" | "drop">();
  const { state } = secret;
  const close = () => setAsking(undefined);
  return (
    <Table.Tr>
      <Table.Td data-label="Secret">
        <Id id={secret.id} />
      </Table.Td>
      <StateCell state={state} />
      <Table.Td data-label="Created">
        <Text size="sm" component="div">
          <When at={secret.created_at} /> by <Who id={secret.created_by} />
        </Text>
      </Table.Td>
      <Table.Td data-label="Promoted">{secret.promoted_at && <When at={secret.promoted_at} />}</Table.Td>
      <Table.Td data-label="Expires">{secret.ends_at && <When at={secret.ends_at} />}</Table.Td>
      <Table.Td data-label="">
        <Group gap="xs" wrap="nowrap">
          {state === "staged" && (
            <ManageButton size="compact-xs" onClick={() => setAsking("promote")}>
              Promote…
            </ManageButton>
          )}
          {(state === "staged" || state === "previous") && (
            <ManageButton size="compact-xs" variant="default" onClick={() => setAsking("drop")}>
              Drop…
            </ManageButton>
          )}
        </Group>
        <PromoteSecret secret={secret} isOpen={asking === "promote"} onClose={close} />
        <DropSecret secret={secret} isOpen={asking === "drop"} onClose={close} />
      </Table.Td>
    </Table.Tr>
  );
}
