// Going through the queue: which requests are selected, what notes are written, and the keys.
import { useState } from "react";
import { useMayManage } from "../api/queries";
import { type Shortcut, useShortcuts } from "../parts/keys";
import { give, takeBackLast } from "./answers";
import { useFocusFollows } from "./focus";
import { type ApprovalRequest, batchOf, meantBy, useHeld } from "./held";
import type { Approval } from "./waiting";

export interface Triage {
  mayManage: boolean;
  /** The requests that are ticked and can be answered. */
  picked: Approval[];
  pick: (ids: string[]) => void;
  toggle: (id: string) => void;
  noteOf: (id: string) => string;
  setNote: (id: string, note: string) => void;
  answer: (approvals: ApprovalRequest[], approve: boolean) => void;
}

export function useTriage(
  waiting: Approval[],
  opened: string | undefined,
  onOpen: (id: string) => void,
): Triage {
  const mayManage = useMayManage();
  const held = useHeld();
  useFocusFollows(waiting, held);
  const [ticked, setTicked] = useState<string[]>([]);
  const [notes, setNotes] = useState<Record<string, string>>({});
  const isFree = ({ decision_id }: ApprovalRequest) => batchOf(held, decision_id) === undefined;
  const picked = waiting.filter((one) => ticked.includes(one.decision_id) && isFree(one));

  const answer = (approvals: ApprovalRequest[], approve: boolean) => {
    const free = approvals.filter(isFree);
    if (!mayManage || free.length === 0) return;
    const answers = free.map((approval) => ({ approval, approve, note: notes[approval.decision_id] }));
    give(answers, approve);
    setTicked([]);
  };
  const toggle = (id: string) =>
    setTicked(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);

  const indexOf = (id: string | undefined) => waiting.findIndex(({ decision_id }) => decision_id === id);
  const current = () => waiting[indexOf(opened ?? focused())];
  const move = (by: number) => {
    const from = indexOf(opened ?? focused());
    const next = waiting[Math.min(Math.max(from + by, 0), waiting.length - 1)];
    if (next === undefined) return;
    document.querySelector<HTMLElement>(`[data-approval="${next.decision_id}"] [data-review]`)?.focus();
    if (opened !== undefined) onOpen(next.decision_id);
  };
  const reply = (approve: boolean) => () => answer(meantBy(picked, opened, current()), approve);
  const walking: Shortcut[] = [
    { keys: ["j"], about: "Next request", run: () => move(1) },
    { keys: ["k"], about: "Previous request", run: () => move(-1) },
    { keys: ["Enter"], about: "Open request" },
    { keys: ["Escape"], about: "Close request" },
  ];
  const answering: Shortcut[] = [
    { keys: ["a"], about: "Approve the selected requests, or the open one", run: reply(true) },
    { keys: ["d"], about: "Deny the selected requests, or the open one", run: reply(false) },
    {
      keys: ["x"],
      about: "Select this request",
      run: () => {
        const id = opened ?? focused();
        if (id !== undefined) toggle(id);
      },
    },
    { keys: ["u"], about: "Undo the last answer", run: held.length > 0 ? takeBackLast : undefined },
  ];
  useShortcuts("Approvals", waiting.length === 0 ? [] : mayManage ? [...walking, ...answering] : walking);

  return {
    mayManage,
    picked,
    pick: setTicked,
    toggle,
    noteOf: (id) => notes[id] ?? "",
    setNote: (id, note) => setNotes({ ...notes, [id]: note }),
    answer,
  };
}

/** The request whose card has the focus. */
function focused(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-approval]")?.dataset.approval;
}
