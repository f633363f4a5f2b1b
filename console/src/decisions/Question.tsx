// What an agent asked: principal, action, resource and context.
import { Text } from "@mantine/core";
import { Facts } from "../parts/Facts";
import { Json } from "../parts/Json";
import { type Question as Asked, nameOf, type Party } from "./model";

export function Question({ question }: { question: Asked }) {
  const { principal, action, resource, context } = question;
  const hasContext = context !== undefined && Object.keys(context).length > 0;
  return (
    <Facts
      of={{
        Principal: <PartyName party={principal} />,
        Action: <span className="mono">{action}</span>,
        Resource: <PartyName party={resource} />,
        Context: hasContext ? <Json value={context} /> : <span className="quiet">none sent</span>,
      }}
    />
  );
}

function PartyName({ party }: { party: Party }) {
  const has = party.properties !== undefined && Object.keys(party.properties).length > 0;
  return (
    <>
      <Text span className="mono">
        {nameOf(party)}
      </Text>
      {has && <Json value={party.properties} />}
    </>
  );
}
