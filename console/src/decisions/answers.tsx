// Gives answers to approvals: each can be undone for five seconds, and what came of each is said.
import { Button, Group, List, Progress, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { answer as answered, api, type Body } from "../api/client";
import { messageOf, Problem } from "../api/problem";
import { queries } from "../api/queries";
import { useNow } from "../parts/clock";
import {
  type Answer,
  type ApprovalRequest,
  type Batch,
  HOLD_MS,
  hold,
  sendNow,
  split,
  undo,
  undoLast,
} from "./held";
import { approval as approvalQuery, hear } from "./waiting";

/** Answers these requests, after a moment in which it can be undone. */
export function give(answers: Answer[], approve: boolean): void {
  const { held, urgent } = split(answers, Date.now());
  if (urgent.length > 0) void send(urgent).then((results) => say(results, approve));
  if (held.length === 0) return;
  const batch = hold(held, approve, async ({ id }) => {
    const results = await send(held);
    notifications.hide(id);
    say(results, approve);
  });
  notifications.show({
    id: batch.id,
    title: `${approve ? "Approving" : "Denying"} ${inWords(held)}`,
    message: <Waiting batch={batch} />,
    color: approve ? "teal" : "red",
    autoClose: false,
    withCloseButton: false,
    // On the other side than the panel, whose buttons it would cover.
    position: "bottom-left",
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

function Waiting({ batch }: { batch: Batch }) {
  const left = useSecondsLeft(batch);
  return (
    <>
      <Text size="sm" component="div" c="var(--mantine-color-text)" aria-hidden>
        Not sent yet: sends in <span className="mono">{left} s</span>
      </Text>
      <Progress value={(100_000 * left) / HOLD_MS} size="xs" my={6} aria-hidden />
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={() => takeBack(batch.id)}>
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

/** How often an answer is sent again that came too soon after others. */
const TRIES_MAX = 3;

/** One after the other, so that many at once do not become too many requests. */
async function send(answers: Answer[]): Promise<Result[]> {
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
    await new Promise((done) => setTimeout(done, (error.retryAfterS ?? 5) * 1_000));
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
    const isLate = error instanceof Problem && error.status === 409;
    notifications.show({
      title: isLate ? "Too late" : `Not ${done.toLowerCase()}: ${nameOf(asked)}`,
      message: isLate ? `${nameOf(asked)}: ${messageOf(error)}` : messageOf(error),
      color: isLate ? "yellow" : "red",
      autoClose: false,
    });
  }
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
