// Requests waiting for approval, and those that were resolved.
import { SegmentedControl, Tooltip } from "@mantine/core";
import { useAddress } from "../address";
import type { LiveState } from "../api/live";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { one } from "../search";
import { ApprovalPanel } from "./ApprovalPanel";
import { History } from "./History";
import { Queue } from "./Queue";
import { useTriage } from "./triage";
import { useQueue } from "./waiting";

const STATUSES = [
  { value: "waiting", label: "Waiting" },
  { value: "approved", label: "Approved" },
  { value: "denied", label: "Denied" },
  { value: "timed_out", label: "Timed out" },
  { value: "ended", label: "All resolved" },
];

export default function Approvals() {
  const [search, change] = useAddress();
  const status = one(search.status) ?? "waiting";
  const selected = one(search.approval);
  const onOpen = (approval: string) => change({ approval }, { replace: selected !== undefined });
  const { query, live } = useQueue();
  const isQueue = status === "waiting";
  const triage = useTriage(isQueue ? (query.data?.data ?? []) : [], selected, onOpen);
  return (
    <Page
      title="Approvals"
      lead="Actions that need a person's approval. The first answer wins."
      actions={query.data && <Live state={live} />}
    >
      <SegmentedControl
        aria-label="Approval status"
        data={STATUSES}
        value={status}
        onChange={(next) => change({ status: next === "waiting" ? undefined : next, approval: undefined })}
        size="xs"
        w="fit-content"
        maw="100%"
        style={{ flexWrap: "wrap" }}
      />
      <Panel>
        {isQueue ? (
          <Queue query={query} selected={selected} onOpen={onOpen} triage={triage} />
        ) : (
          <History status={status} selected={selected} onOpen={onOpen} />
        )}
      </Panel>
      <ApprovalPanel id={selected} triage={triage} onClose={() => change({ approval: undefined })} />
    </Page>
  );
}

/** Whether the list is as the server has it, without anybody asking. */
function Live({ state }: { state: LiveState }) {
  const said = {
    connecting: { label: "Connecting", word: "disabled", about: "The list will update automatically." },
    open: { label: "Live", word: "ok", about: "The list updates automatically." },
    lost: {
      label: "Reconnecting",
      word: "retrying",
      about: "The connection was lost; the list may be out of date.",
    },
  }[state];
  return (
    <Tooltip label={said.about}>
      <span data-live={state}>
        <Mark word={said.word}>{said.label}</Mark>
      </span>
    </Tooltip>
  );
}
