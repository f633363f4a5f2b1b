// Gives answers to approvals: each can be undone for five seconds, and what came of each is said.
import { Button, Group, List, Progress, Text, VisuallyHidden } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { answer as answered, api, type Body } from "../api/client";
import { messageOf, Problem } from "../api/problem";
import { queries } from "../api/queries";
import { useNow } from "../parts/clock";
import { focusRequest } from "./focus";
import {
  type Answer,
  type ApprovalRequest,
  type Batch,
  HOLD_MS,
  hold,
  sendNow,
  split,
  undo,
  undoAll,
  undoLast,
  useHeld,
} from "./held";
import { approval as approvalQuery, hear } from "./waiting";

/** Answers these requests, after a moment in which it can be undone. */
export function give(answers: Answer[], approve: boolean): void {
  const { held, urgent } = split(answers, Date.now());
  start(urgent, approve, 0);
  start(held, approve, HOLD_MS);
}

function start(answers: Answer[], approve: boolean, waitMs: number): void {
  if (answers.length === 0) return;
  const sendAndSay = async ({ id }: Batch, onSent: () => void) => {
    const results = await send(answers, onSent);
    notifications.hide(id);
    say(results, approve);
  };
  const batch = hold(answers, approve, sendAndSay, waitMs);
  notifications.show({
    id: batch.id,
    title: `${approve ? "Approving" : "Denying"} ${inWords(answers)}`,
    message: <Progressing batch={batch} />,
    color: approve ? "teal" : "red",
    autoClose: false,
    withCloseButton: false,
    // Away from the panel, whose buttons it would cover.
    position: matchMedia("(max-width: 48em)").matches ? "top-center" : "bottom-left",
  });
}

/** For whoever signs out: nobody else may send what they did not. */
export function takeBackAll(): void {
  notifications.clean();
  const undone = undoAll();
  if (undone === 0) return;
  notifications.show({
    title: undone === 1 ? "1 answer was not sent" : `${undone} answers were not sent`,
    message: "The session ended first. The requests are still waiting.",
    color: "yellow",
    autoClose: false,
  });
}

export function takeBack(id: string): void {
  if (undo(id)) sayUndone(id);
}

export function takeBackLast(): void {
  const id = undoLast();
  if (id !== undefined) sayUndone(id);
}

function sayUndone(id: string): void {
  notifications.hide(id);
  notifications.show({ title: "Undone", message: "Nothing was sent.", color: "gray" });
}

/** How many seconds there are to undo it. */
export function useSecondsLeft(batch: Batch): number {
  const now = useNow();
  return Math.min(Math.max(Math.ceil((batch.sendsAt - now.getTime()) / 1_000), 0), HOLD_MS / 1_000);
}

function Progressing({ batch }: { batch: Batch }) {
  const now = useHeld().find(({ id }) => id === batch.id) ?? batch;
  return now.isSending ? <Sending batch={now} /> : <Waiting batch={now} />;
}

function Sending({ batch: { answers, sent } }: { batch: Batch }) {
  return (
    <Text size="sm" component="div" c="var(--mantine-color-text)">
      {answers.length === 1
        ? "Sending…"
        : `Sending ${Math.min(sent + 1, answers.length)} of ${answers.length}…`}
    </Text>
  );
}

function Waiting({ batch }: { batch: Batch }) {
  const left = useSecondsLeft(batch);
  return (
    <>
      <VisuallyHidden>You can undo this for {HOLD_MS / 1_000} seconds.</VisuallyHidden>
      <Text size="sm" component="div" c="var(--mantine-color-text)" aria-hidden>
        Sending in <span className="mono">{left} s</span>
      </Text>
      <Progress value={(100_000 * left) / HOLD_MS} size="xs" my={6} aria-hidden />
      <Group gap="xs">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            takeBack(batch.id);
            focusRequest(batch);
          }}
        >
          Undo
        </Button>
        <Button size="compact-sm" variant="subtle" onClick={() => sendNow(batch.id)}>
          Send now
        </Button>
      </Group>
    </>
  );
}

interface Result {
  asked: ApprovalRequest;
  /** Why it did not work. */
  error?: unknown;
}

/** How often an answer is sent again that came too soon after others, and how long it waits for that at most. */
const TRIES_MAX = 3;
const WAIT_MAX_S = 30;

/** One after the other, so that many at once do not become too many requests. */
async function send(answers: Answer[], onSent: () => void): Promise<Result[]> {
  const results: Result[] = [];
  for (const answer of answers) {
    const asked = answer.approval;
    try {
      const now = await resolve(answer);
      queries.setQueryData(approvalQuery(asked.decision_id).queryKey, now);
      hear(now);
      results.push({ asked });
    } catch (error) {
      results.push({ asked, error });
    }
    onSent();
  }
  // Somebody was quicker, or the time is over: what is shown is not how it stands.
  if (results.some(({ error }) => error)) void queries.invalidateQueries({ queryKey: ["approvals"] });
  return results;
}

async function resolve(answer: Answer, tries = 1): Promise<Body<"DecisionDetail">> {
  const { approval, approve, note } = answer;
  const path = { id: approval.decision_id };
  const body = { approve, note: note?.trim() ? note : undefined };
  try {
    return await answered(api.POST("/v1/runtime/decisions/{id}/resolve", { params: { path }, body }));
  } catch (error) {
    if (!(error instanceof Problem && error.isRateLimited) || tries === TRIES_MAX) throw error;
    await new Promise((done) => setTimeout(done, Math.min(error.retryAfterS ?? 5, WAIT_MAX_S) * 1_000));
    return resolve(answer, tries + 1);
  }
}

/** More than these are said together. */
const FAILURES_MAX = 3;

function say(results: Result[], approve: boolean): void {
  const done = approve ? "Approved" : "Denied";
  const failed = results.filter(({ error }) => error !== undefined);
  const succeeded = results.filter(({ error }) => error === undefined).map(({ asked }) => asked);
  if (succeeded.length > 0) {
    notifications.show({
      title: succeeded.length === 1 ? done : `${done} ${succeeded.length} requests`,
      message: <Named lines={succeeded.map(nameOf)} />,
      color: approve ? "teal" : "red",
    });
  }
  if (failed.length > FAILURES_MAX) {
    notifications.show({
      title: `${failed.length} requests not ${done.toLowerCase()}`,
      message: <Named lines={failed.map(({ asked, error }) => `${nameOf(asked)}: ${messageOf(error)}`)} />,
      color: "red",
      autoClose: false,
    });
    return;
  }
  for (const { asked, error } of failed) {
    notifications.show({ ...failureOf(asked, error, done), autoClose: false });
  }
}

function failureOf(asked: ApprovalRequest, error: unknown, done: string) {
  if (!(error instanceof Problem)) {
    const message = `${messageOf(error)} Check the request before you answer again.`;
    return { title: `Couldn't confirm: ${nameOf(asked)}`, message, color: "yellow" };
  }
  if (error.status === 409) {
    return { title: "Too late", message: `${nameOf(asked)}: ${messageOf(error)}`, color: "yellow" };
  }
  return { title: `Not ${done.toLowerCase()}: ${nameOf(asked)}`, message: messageOf(error), color: "red" };
}

function Named({ lines }: { lines: string[] }) {
  if (lines.length === 1) return lines[0];
  return (
    <List size="sm" c="var(--mantine-color-text)">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two requests may have the same name, and none moves.
        <List.Item key={index}>{line}</List.Item>
      ))}
    </List>
  );
}

function nameOf({ action, agent_id, resource }: ApprovalRequest): string {
  return resource ? `${action} on ${resource} by ${agent_id}` : `${action} by ${agent_id}`;
}

function inWords(answers: Answer[]): string {
  const [first] = answers;
  return answers.length === 1 && first ? nameOf(first.approval) : `${answers.length} requests`;
}
