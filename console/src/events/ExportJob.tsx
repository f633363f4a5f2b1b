// One export: what was requested, its progress, and its files or what went wrong.
import { Alert, Anchor, Group, List, Progress, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { IconAlertTriangle, IconDownload } from "@tabler/icons-react";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Confirm } from "../parts/Confirm";
import { Copy, Id } from "../parts/Copy";
import { absolute, useZone } from "../parts/clock";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { bytes, counted, number } from "../parts/numbers";
import { Panel } from "../parts/Page";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { type Filter, inWords } from "./filter";

type Job = Body<"Export">;

export function isUnderWay(job: Job): boolean {
  return job.state === "queued" || job.state === "running";
}

/** What each state is called, and which word gives it its color. */
const STATES: Record<string, { word: string; like: string }> = {
  queued: { word: "queued", like: "pending" },
  running: { word: "in progress", like: "pending" },
  done: { word: "ready", like: "ok" },
  failed: { word: "failed", like: "failed" },
  canceled: { word: "canceled", like: "canceled" },
  expired: { word: "expired", like: "canceled" },
};

export function ExportJob({ job }: { job: Job }) {
  const state = STATES[job.state] ?? { word: job.state, like: "" };
  const size = job.files.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <Panel>
      <Stack gap="xs" data-export={job.id} data-export-state={job.state}>
        <Group justify="space-between" gap="xs" align="flex-start">
          <Group gap="xs">
            <Mark word={state.like}>{state.word}</Mark>
            <Text fw={650}>
              {counted(job.events, "event")}
              {size > 0 && ` · ${bytes(size)}`} · {kindOf(job)}
            </Text>
          </Group>
          {isUnderWay(job) && <Cancel job={job} />}
        </Group>
        <Scope job={job} />
        {isUnderWay(job) && <Doing job={job} />}
        {job.error && <WentWrong job={job} error={job.error} />}
        {job.files.length > 0 && <Files job={job} />}
        {job.format === "bundle" && job.files.length > 0 && (
          <Text size="sm">
            This file proves itself: <To path="/verify">verify it in a browser</To>, or with{" "}
            <span className="mono">watchbell trail verify</span>.
          </Text>
        )}
        <Text size="xs" className="quiet" component="div">
          Requested <When at={job.created_at} /> by <Who id={job.asked_by} />
          {job.expires_at && job.state === "done" && (
            <>
              {" "}
              · the files will be deleted <When at={job.expires_at} />
            </>
          )}
          {job.state === "expired" && " · the files expired and were deleted; export again to get new ones"}
        </Text>
        <Id id={job.id} />
      </Stack>
    </Panel>
  );
}

function kindOf(job: Job): string {
  return job.compression === "none" ? job.format : `${job.format}, ${job.compression}`;
}

/** What is in it, in words. */
function Scope({ job }: { job: Job }) {
  const [zone] = useZone();
  const filter = filterOf(job);
  const moment = (at: string) => absolute(new Date(at), zone).slice(0, 19);
  const from = filter.from ? `From ${moment(filter.from)}` : "From the first event";
  const words = [`${from} to ${filter.to ? moment(filter.to) : "when it was requested"}`, ...inWords(filter)];
  return (
    <List size="sm" className="quiet">
      {words.map((word) => (
        <List.Item key={word}>{word}</List.Item>
      ))}
    </List>
  );
}

/** The filter as it is kept: fields that are not set may be there, empty. */
function filterOf(job: Job): Filter {
  const kept = Object.entries(job.filter as Record<string, unknown>).filter(
    ([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept) as Filter;
}

function Doing({ job }: { job: Job }) {
  const percent = Math.round(job.progress * 100);
  return (
    <Group gap="sm" wrap="nowrap">
      <Progress.Root size="lg" style={{ flex: 1 }}>
        <Progress.Section value={percent} animated aria-label="Export progress" />
      </Progress.Root>
      <Text size="sm" w={44} ta="right">
        {percent}%
      </Text>
    </Group>
  );
}

function WentWrong({ job, error }: { job: Job; error: string }) {
  const isOver = job.state === "failed";
  return (
    <Alert
      color={isOver ? "red" : "yellow"}
      icon={<IconAlertTriangle />}
      title={isOver ? "Export failed" : "Retrying"}
      data-state="error"
    >
      <Text size="sm">{error}</Text>
      <Text size="sm" mt={4}>
        {isOver
          ? "Nothing in the trail is lost. Export again, with a shorter time range if the export was large. If it fails again, ask the server's operator to check the server log."
          : "No action needed: the export continues from the last complete file."}
      </Text>
    </Alert>
  );
}

function Files({ job }: { job: Job }) {
  return (
    <Table.ScrollContainer
      minWidth={480}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Files" } }}
    >
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>File</Table.Th>
            <Table.Th>Events</Table.Th>
            <Table.Th>Size</Table.Th>
            <Table.Th>SHA-256</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {job.files.map((file) => (
            <Table.Tr key={file.name}>
              <Table.Td>
                <Anchor href={file.url} download={file.name} size="sm">
                  <IconDownload size={14} aria-hidden /> {file.name}
                </Anchor>
              </Table.Td>
              <Table.Td>{number(file.events)}</Table.Td>
              <Table.Td>{bytes(file.bytes)}</Table.Td>
              <Table.Td>
                <Group gap={2} wrap="nowrap">
                  <span className="mono">{file.sha256.slice(0, 12)}…</span>
                  <Copy text={file.sha256} of="checksum" />
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Cancel({ job }: { job: Job }) {
  const [isAsking, asking] = useDisclosure(false);
  const done = () => {
    asking.close();
    notifications.show({ message: "Export canceled" });
    queries.invalidateQueries({ queryKey: ["exports"] });
  };
  return (
    <>
      <ManageButton size="compact-sm" variant="default" onClick={asking.open}>
        Cancel
      </ManageButton>
      {isAsking && (
        <Confirm
          title="Cancel this export?"
          action="Cancel export"
          back="Go back"
          act={() => answer(api.DELETE("/v1/audit/exports/{id}", { params: { path: { id: job.id } } }))}
          done={done}
          close={asking.close}
        >
          <Text size="sm">
            This stops the {kindOf(job)} export ({counted(job.events, "event")} so far) and deletes its files.
            The trail itself is not affected.
          </Text>
        </Confirm>
      )}
    </>
  );
}
