// Gives answers to approvals: each can be undone for five seconds, and what came of each is said.
import { Button, Group, List, Progress, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { answer as answered, api } from "../api/client";
import { messageOf, Problem } from "../api/problem";
import { queries } from "../api/queries";
import { useNow } from "../parts/clock";
import { type Answer, type Asked, type Batch, HOLD_MS, hold, sendNow, split, undo, undoLast } from "./held";
import { approval as approvalQuery, hear } from "./waiting";

/** Answers these requests, after a moment in which it can be undone. */
export function give(answers: Answer[], approve: boolean): void {
  const { held, urgent } = split(answers, Date.now());
  if (urgent.length > 0) void send(urgent, approve).then((results) => say(results, approve));
  if (held.length === 0) return;
  const batch = hold(held, approve, async ({ id }) => {
    const results = await send(held, approve);
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
  asked: Asked;
  /** Why it did not work. */
  error?: unknown;
}

/** One after the other, so that many at once do not become too many requests. */
async function send(answers: Answer[], approve: boolean): Promise<Result[]> {
  const results: Result[] = [];
  for (const { approval, note } of answers) {
    const id = approval.decision_id;
    try {
      const path = { id };
      const body = { approve, note: note?.trim() ? note : undefined };
      const now = await answered(api.POST("/v1/runtime/decisions/{id}/resolve", { params: { path }, body }));
      queries.setQueryData(approvalQuery(id).queryKey, now);
      hear(now);
      results.push({ asked: approval });
    } catch (error) {
      results.push({ asked: approval, error });
    }
  }
  // Somebody was quicker, or the time is over: what is shown is not how it stands.
  if (results.some(({ error }) => error)) void queries.invalidateQueries({ queryKey: ["approvals"] });
  return results;
}

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

function nameOf({ action, agent_id, resource }: Asked): string {
  return resource ? `${action} on ${resource} by ${agent_id}` : `${action} by ${agent_id}`;
}

function inWords(answers: Answer[]): string {
  const [first] = answers;
  return answers.length === 1 && first ? nameOf(first.approval) : `${answers.length} requests`;
}
