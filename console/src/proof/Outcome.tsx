// What a check came to: the verdict in words, what is wrong and where, what the file has, and what is left open.
import { Alert, Code, List, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { IconAlertTriangle, IconHelp, IconShieldCheck } from "@tabler/icons-react";
import type { Report } from "@watchbell/sdk/proof";
import { Snippet } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { counted, number } from "../parts/numbers";
import { Panel } from "../parts/Page";
import { When } from "../parts/When";
import { contents, leftOpen, meaning, sentence, VERDICTS } from "./words";

const ICONS = { proven: IconShieldCheck, not_proven: IconAlertTriangle, cannot_be_checked: IconHelp };

export function Outcome({ report }: { report: Report }) {
  const { verdict, findings, origin } = report;
  const { title, color } = VERDICTS[verdict];
  const Icon = ICONS[verdict];
  return (
    <Stack gap="md" data-verdict={verdict}>
      <Alert
        color={color}
        icon={<Icon size={24} />}
        title={title}
        role="status"
        styles={{ title: { fontSize: 20 }, icon: { marginTop: 3 } }}
      >
        <Text size="sm">{meaning(report)}</Text>
      </Alert>
      {findings.length > 0 && <Findings report={report} />}
      {origin !== undefined && <Log report={report} />}
      {origin !== undefined && <Contents report={report} />}
      <LeftOpen report={report} />
      {verdict === "proven" && report.checkpoint && <Keep checkpoint={report.checkpoint} />}
    </Stack>
  );
}

function Findings({ report: { findings, findingsLeftOut } }: { report: Report }) {
  return (
    <Panel title="What is wrong">
      <Table.ScrollContainer
        minWidth={0}
        type="native"
        tabIndex={0}
        role="region"
        aria-label="What is wrong, by line"
      >
        <Table aria-label="Findings" verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={90}>Line</Table.Th>
              <Table.Th>Finding</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {findings.map(({ line, code, message }) => (
              <Table.Tr key={`${line} ${code} ${message}`}>
                <Table.Td style={{ verticalAlign: "top" }}>{line === null ? "—" : number(line)}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>
                  {sentence(message)} <Code>{code}</Code>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {findingsLeftOut > 0 && (
        <Text size="sm" className="quiet" mt="xs">
          {counted(findingsLeftOut, "more finding is", "more findings are")} not listed.
        </Text>
      )}
    </Panel>
  );
}

/** Which log, and who vouches for it. Of what the header says, only the checkpoint is signed. */
function Log({ report }: { report: Report }) {
  const { origin, size, signedBy, cosigned, madeAt, filter } = report;
  return (
    <Panel title="The log">
      <Facts
        of={{
          Log: <span className="mono">{origin}</span>,
          Checkpoint: counted(size, "entry", "entries"),
          "Signed by": signedBy.length > 0 && <Keys keys={signedBy} />,
          "Cosigned by":
            cosigned.length > 0 &&
            cosigned.map(({ witness, unixSeconds }) => (
              <Text key={witness} size="sm" component="div">
                <span className="mono">{nameOf(witness)}</span>,{" "}
                <When at={new Date(unixSeconds * 1_000).toISOString()} exact />
              </Text>
            )),
          "Made (not signed)": madeAt && <When at={madeAt} exact />,
          "Filter (not signed)": filter && <span className="mono">{filter}</span>,
        }}
      />
    </Panel>
  );
}

function Keys({ keys }: { keys: string[] }) {
  return keys.map((key) => (
    <div key={key} className="mono" style={{ overflowWrap: "anywhere" }}>
      {key}
    </div>
  ));
}

function nameOf(key: string): string {
  return key.slice(0, key.indexOf("+"));
}

function Contents({ report }: { report: Report }) {
  return (
    <Panel title="What the file has">
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
        {contents(report).map(({ name, count }) => (
          <div key={name}>
            <Text fw={650} size="lg">
              {number(count)}
            </Text>
            <Text size="xs" className="quiet">
              {name}
            </Text>
          </div>
        ))}
      </SimpleGrid>
    </Panel>
  );
}

function LeftOpen({ report }: { report: Report }) {
  return (
    <Panel title="What was not checked">
      <List size="sm" spacing={4}>
        {leftOpen(report).map((what) => (
          <List.Item key={what}>
            <WithCode text={what} />
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}

/** A command stands between backticks. */
function WithCode({ text }: { text: string }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence do not move.
  return text.split("`").map((part, at) => (at % 2 === 1 ? <Code key={at}>{part}</Code> : part));
}

function Keep({ checkpoint }: { checkpoint: string }) {
  return (
    <Panel>
      <Title order={2} size="h5" mb={4}>
        Keep this checkpoint
      </Title>
      <Text size="sm" className="quiet" mb="sm">
        Give it with the next export of this log: then nothing that is in this file can be changed or taken
        away without you noticing.
      </Text>
      <Snippet code={checkpoint.trimEnd()} of="checkpoint" />
    </Panel>
  );
}
