// What to export, in which format, and whether to download it now or in the background.
import { Anchor, Button, Group, List, Modal, Radio, SegmentedControl, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { answer, api } from "../api/client";
import { queries } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { absolute, useZone } from "../parts/clock";
import { docs } from "../parts/docs";
import { bytes, number } from "../parts/numbers";
import { To } from "../parts/To";
import { type Compression, compressionsOf, download, FORMATS, type Format } from "./download";
import { inAll } from "./estimate";
import type { Counts } from "./facets";
import { type Filter, inWords } from "./filter";

/** What a browser takes in one go; more is better made by the server and fetched when it is ready. */
const DIRECT_MAX = 20_000;

const ABOUT: Record<Format, ReactNode> = {
  ndjson: "One event per line, as sent. For other programs.",
  csv: "A table. For spreadsheets.",
  json: "One document with all events.",
  parquet: "Compressed columns. For DuckDB, Spark and similar tools.",
  bundle: (
    <>
      A file that proves itself: complete, unchanged, in order, with delivery attempts and policies. Anyone
      can <To path="/verify">verify it in a browser</To>, without this server.{" "}
      <Anchor href={docs("how-to/audit.md")} size="xs">
        How it works
      </Anchor>
    </>
  ),
};

interface ExportDialogProps {
  opened: boolean;
  onClose: () => void;
  filter: Filter;
  counts: Counts | undefined;
}

export function ExportDialog({ opened, onClose, filter, counts }: ExportDialogProps) {
  const navigate = useNavigate();
  const [format, setFormat] = useState<Format>("ndjson");
  const [compression, setCompression] = useState<Compression>("none");
  const isLarge = counts !== undefined && (!counts.complete || counts.counted > DIRECT_MAX);
  const [way, setWay] = useState<"direct" | "job">();
  const chosen = isLarge ? "job" : (way ?? "direct");
  const [got, setGot] = useState(0);

  const stopping = useRef<AbortController>(null);
  const close = () => {
    stopping.current?.abort();
    onClose();
  };

  const direct = useMutation({
    mutationFn: () => {
      stopping.current = new AbortController();
      return download({ filter, format, compression }, setGot, stopping.current.signal);
    },
    onMutate: () => setGot(0),
    onSuccess: (name) => {
      notifications.show({ message: `Saved ${name}`, color: "teal" });
      onClose();
    },
  });
  const job = useMutation({
    mutationFn: () =>
      answer(api.POST("/v1/audit/export", { body: { ...filter, format, compression, async: true } })),
    onSuccess: () => {
      queries.invalidateQueries({ queryKey: ["exports"] });
      onClose();
      navigate({ to: "/exports" });
    },
  });
  const asking = chosen === "direct" ? direct : job;
  const setFormatAnd = (next: Format) => {
    setFormat(next);
    if (!compressionsOf(next).includes(compression)) setCompression(compressionsOf(next)[0] ?? "none");
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title="Export events"
      closeButtonProps={{ "aria-label": "Close export" }}
    >
      <Stack gap="md">
        <Scope filter={filter} counts={counts} />
        <Choice
          label="Format"
          data={[...FORMATS]}
          value={format}
          onChange={setFormatAnd}
          note={ABOUT[format]}
        />
        <Choice
          label="Compression"
          data={compressionsOf(format)}
          value={compression}
          onChange={setCompression}
        />
        <Radio.Group label="Method" value={chosen} onChange={(value) => setWay(value as "direct" | "job")}>
          <Stack gap="xs" mt={4}>
            <Radio
              value="direct"
              label="Download now"
              description={`Keep this page open. Up to ${number(DIRECT_MAX)} events.`}
              disabled={isLarge}
            />
            <Radio
              value="job"
              label="Export in the background"
              description="The server creates the files. Follow the progress and download them when they are ready."
            />
          </Stack>
        </Radio.Group>
        <Text size="xs" className="quiet">
          This export is recorded in the audit trail.
        </Text>
        {asking.isError && !isStopped(asking.error) && <Trouble error={asking.error} />}
        <Group justify="flex-end">
          {direct.isPending && (
            <Text size="sm" className="quiet" aria-live="polite">
              {bytes(got)} so far
            </Text>
          )}
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button onClick={() => asking.mutate()} loading={asking.isPending}>
            {chosen === "direct" ? "Download" : "Start export"}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Whether it ended because somebody wanted it to. */
function isStopped(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** What will be in it, in words. */
function Scope({ filter, counts }: { filter: Filter; counts: Counts | undefined }) {
  const [zone] = useZone();
  const moment = (at: string) => absolute(new Date(at), zone);
  return (
    <div>
      <Text size="sm" fw={600}>
        {counts && inAll(counts, "event")}
      </Text>
      <List size="sm">
        <List.Item>
          {filter.from ? `From ${moment(filter.from)}` : "From the first event"} to{" "}
          {filter.to ? moment(filter.to) : "now"}
        </List.Item>
        {inWords(filter).map((words) => (
          <List.Item key={words}>{words}</List.Item>
        ))}
        {inWords(filter).length === 0 && <List.Item>No filters: all events in this time range</List.Item>}
      </List>
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  data: T[];
  value: T;
  onChange: (value: T) => void;
  note?: ReactNode;
}

function Choice<T extends string>({ label, data, value, onChange, note }: ChoiceProps<T>) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label={label}
        data={data}
        value={value}
        onChange={(next) => onChange(next as T)}
      />
      {note && (
        <Text size="xs" className="quiet" mt={4} component="div">
          {note}
        </Text>
      )}
    </div>
  );
}
