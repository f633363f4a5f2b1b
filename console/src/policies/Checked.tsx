// What the server says about a draft: errors and warnings by line, and test results.
import { Anchor, Group, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answer, api } from "../api/client";
import { useMayManage } from "../api/queries";
import { Loading, Trouble } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";
import { bodyOf, type Draft, type Finding, findingsOf, type Part, readTests, type TestResult } from "./draft";

/** A person may have 20 drafts checked in a minute, so one who pauses is waited for. */
const PAUSE_MS = 1_500;
/** What policies may cost a question. */
const COST_MAX = 1_500;

const NO_TESTS: TestResult[] = [];
const NO_FINDINGS: Finding[] = [];

interface Checks {
  findings: Finding[];
  tests: TestResult[];
  /** What the dearest question costs them. */
  cost: number;
  /** Whether this very text was found good. */
  isGood: boolean;
  isWaiting: boolean;
  isFetching: boolean;
  error: Error | null;
  again: () => void;
}

/** Has a draft checked when its author pauses. */
export function useChecks(draft: Draft): Checks {
  const mayManage = useMayManage();
  const { note: _, ...texts } = draft;
  const [settled] = useDebouncedValue(JSON.stringify(texts), PAUSE_MS);
  const checked = { ...(JSON.parse(settled) as Omit<Draft, "note">), note: "" };
  const query = useQuery({
    queryKey: ["policy-check", settled],
    queryFn: async () => {
      const said = await answer(api.POST("/v1/policies/validate", { body: bodyOf(checked) }));
      const tests = said.tests as unknown as TestResult[];
      return { ...said, tests, findings: findingsOf({ ...said, tests }, checked) };
    },
    enabled: mayManage,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const { data } = query;
  const tests = data?.tests ?? NO_TESTS;
  const said = data?.findings ?? NO_FINDINGS;
  const unread = useMemo(() => readTests(draft.tests), [draft.tests]);
  // The same until somebody says something else: marks move with the text, and would be put back to where they were.
  const findings = useMemo(
    () => ("wrong" in unread ? [unread.wrong, ...said.filter(({ part }) => part !== "tests")] : said),
    [unread, said],
  );
  const isWaiting = settled !== JSON.stringify(texts);
  const isGood = !isWaiting && !query.isPlaceholderData && !("wrong" in unread) && data?.valid === true;
  const { isFetching, error } = query;
  return {
    findings,
    tests,
    cost: data?.cost ?? 0,
    isGood,
    isWaiting,
    isFetching,
    error,
    again: () => void query.refetch(),
  };
}

export function Checked({ checks, onShow }: { checks: Checks; onShow: (part: Part) => void }) {
  const mayManage = useMayManage();
  const { findings, tests, cost, isGood, isWaiting, isFetching, error, again } = checks;
  // What a test got is told below, with why.
  const others = findings.filter(
    ({ part, text }) => part !== "tests" || !tests.some((test) => text.startsWith(test.name)),
  );
  const isWrong = findings.some(({ kind }) => kind === "error");
  const word = isWaiting || isFetching ? "pending" : isWrong ? "error" : isGood ? "ok" : "disabled";
  const names: Record<string, string> = {
    pending: "checking",
    error: "cannot be saved",
    ok: "can be saved",
    disabled: "not checked",
  };
  if (!mayManage) {
    return (
      <Panel title="Check">
        <Text size="sm" className="quiet">
          Only admins and owners can check policies.
        </Text>
      </Panel>
    );
  }
  return (
    <Panel title="Check" actions={<Mark word={word}>{names[word]}</Mark>}>
      <Stack gap="xs" aria-live="polite" data-checked={word}>
        {error && <Trouble error={error} again={again} />}
        {isFetching && !error && tests.length + findings.length === 0 && <Loading lines={2} />}
        {others.map((finding) => (
          <Group key={`${finding.part}${finding.text}`} gap="xs" align="flex-start" wrap="nowrap">
            <Mark word={finding.kind === "error" ? "error" : "medium"}>{finding.kind}</Mark>
            <Text size="sm">
              <Anchor component="button" type="button" size="sm" onClick={() => onShow(finding.part)}>
                {finding.part}
                {finding.line && `, line ${finding.line}`}
              </Anchor>{" "}
              {finding.text}
            </Text>
          </Group>
        ))}
        {tests.map((test) => (
          <Test key={test.name} test={test} isStale={word === "pending"} />
        ))}
        {isGood && cost > 0 && (
          <Text size="sm" className="quiet">
            Evaluating a question costs up to {cost.toLocaleString("en")} of the allowed{" "}
            {COST_MAX.toLocaleString("en")}: <code>like</code> patterns, and comparisons with values from the
            question.
          </Text>
        )}
        {isGood && tests.length === 0 && (
          <Text size="sm" className="quiet">
            No tests yet. Tests show that your policies do what you mean, now and after the next change.
          </Text>
        )}
      </Stack>
    </Panel>
  );
}

/** A result of a text that has changed since says nothing of the one on the screen. */
function Test({ test, isStale }: { test: TestResult; isStale: boolean }) {
  const state = isStale ? "checking" : test.passed ? "passed" : "failed";
  const word = isStale ? "pending" : test.passed ? "ok" : "failed";
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap" data-test={state}>
      <Mark word={word}>{state}</Mark>
      <div>
        <Text size="sm">{test.name}</Text>
        {!test.passed && !isStale && (
          <Text size="xs" className="quiet">
            expected {test.expected.decision}
            {test.expected.policies && ` by ${test.expected.policies.join(", ")}`}, got {test.decision}
            {test.policies.length > 0 && ` by ${test.policies.join(", ")}`}: {test.reason}
          </Text>
        )}
      </div>
    </Group>
  );
}
