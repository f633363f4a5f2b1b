// Shows the data of a query, or that it is loading, empty or failed.
import { Alert, Button, Code, Group, Skeleton, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconAlertTriangle, IconClockPause, IconInbox } from "@tabler/icons-react";
import type { UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { messageOf, Problem } from "../api/problem";

interface AnsweredProps<T> {
  query: UseQueryResult<T>;
  /** Says of an answer that there is nothing to show. */
  isEmpty?: (data: T) => boolean;
  /** What to show then: it should teach what would be here, and how. */
  empty?: ReactNode;
  /** Stands in while the answer is on its way; by default some gray lines. */
  loading?: ReactNode;
  children: (data: T) => ReactNode;
}

/** Shows what a query answered, or in what state it is. An old answer stays while a new one is asked for. */
export function Answered<T>({ query, isEmpty, empty, loading, children }: AnsweredProps<T>) {
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && (
          <Trouble error={query.error} again={() => again(query)} stale={!isNextPage(query)} />
        )}
        {isEmpty?.(query.data) ? empty : children(query.data)}
      </>
    );
  }
  if (query.isError) return <Trouble error={query.error} again={() => query.refetch()} />;
  return loading ?? <Loading />;
}

/** Asks for what failed: of a list that has some pages, for the next one. */
function again(query: object): void {
  const { refetch, fetchNextPage } = query as Partial<UseInfiniteQueryResult>;
  if (isNextPage(query)) fetchNextPage?.();
  else refetch?.();
}

function isNextPage(query: object): boolean {
  return (query as Partial<UseInfiniteQueryResult>).isFetchNextPageError ?? false;
}

export function Loading({ lines = 6 }: { lines?: number }) {
  const widths = ["100%", "92%", "97%", "85%"];
  return (
    <Stack gap="sm" p="md" role="status" aria-label="Loading" data-state="loading">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: gray lines have nothing else to tell them apart.
        <Skeleton key={line} height={18} width={widths[line % widths.length]} />
      ))}
    </Stack>
  );
}

interface EmptyProps {
  title: string;
  icon?: ReactNode;
  /** What would be here, and how it comes to be. */
  children?: ReactNode;
  action?: ReactNode;
}

export function Empty({ title, icon, children, action }: EmptyProps) {
  return (
    <Stack align="center" gap="xs" py={48} px="md" data-state="empty">
      <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
        {icon ?? <IconInbox size={26} />}
      </ThemeIcon>
      <Title order={2} size="h4" ta="center">
        {title}
      </Title>
      <Text className="quiet" ta="center" maw={520} component="div">
        {children}
      </Text>
      {action}
    </Stack>
  );
}

interface TroubleProps {
  error: unknown;
  again?: () => void;
  /** What is shown beside it is an older answer. */
  stale?: boolean;
}

/** What went wrong, in the server's own words, and what to do next. Too many requests heal by waiting. */
export function Trouble({ error, again, stale }: TroubleProps) {
  const problem = error instanceof Problem ? error : undefined;
  const isLimited = problem?.isRateLimited ?? false;
  return (
    <Alert
      my="sm"
      role="alert"
      data-state={isLimited ? "rate-limited" : "error"}
      color={isLimited ? "yellow" : "red"}
      icon={isLimited ? <IconClockPause /> : <IconAlertTriangle />}
      title={isLimited ? "Too many requests" : stale ? "This may be out of date" : "Something went wrong"}
    >
      <Text size="sm">{messageOf(error)}</Text>
      {problem?.faults?.map((fault) => (
        <Text size="sm" key={`${fault.pointer}${fault.detail}`}>
          <Code>{fault.pointer || "/"}</Code> {fault.detail}
        </Text>
      ))}
      <Group mt="xs" gap="sm">
        {isLimited && again ? (
          <Countdown error={error} seconds={problem?.retryAfterS ?? 5} then={again} />
        ) : (
          again && (
            <Button size="xs" variant="default" onClick={again}>
              Try again
            </Button>
          )
        )}
        {problem?.requestId && (
          <Text size="xs" className="quiet">
            Request <Code>{problem.requestId}</Code>
          </Text>
        )}
      </Group>
    </Alert>
  );
}

interface CountdownProps {
  /** Each refusal counts anew, even if it says the same as the one before. */
  error: unknown;
  seconds: number;
  then: () => void;
}

function Countdown({ error, seconds, then }: CountdownProps) {
  const [left, setLeft] = useState(seconds);
  const latest = useRef(then);
  latest.current = then;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another refusal is the reason, not a value that is read.
  useEffect(() => {
    let rest = Math.max(seconds, 1);
    setLeft(rest);
    const timer = setInterval(() => {
      rest -= 1;
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      latest.current();
    }, 1_000);
    return () => clearInterval(timer);
  }, [error, seconds]);
  return (
    <Text size="sm" aria-live="off">
      Retrying {left > 0 ? `in ${left} s` : "now"}.
    </Text>
  );
}
