// One attempt: when it was made, how long each phase took, the response, and what followed.
import { Button, Code, Collapse, Group, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { Body } from "../api/client";
import { duration } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { AttemptInLog } from "../proof/InLog";
import { Phases } from "./Phases";
import { Request } from "./Request";
import { REASONS, STATE_WORDS } from "./states";

type Attempted = Body<"AttemptBody">;

const TRIGGERS: Record<string, string> = {
  match: "the event matched",
  retry: "the previous attempt failed",
  test: "someone tested the rule",
  summary: "alerts were suppressed",
  resend: "someone resent it",
  recover: "it was resent in bulk",
};

const OUTCOMES: Record<string, string> = {
  delivered: "delivered",
  transient: "temporary failure",
  rejected: "rejected",
  redirect: "redirected",
  permanent: "permanently rejected",
  gone: "gone",
  blocked: "not allowed",
  our_fault: "problem on our side",
};

/** A clock that is off by more makes signatures look old or from the future: half of what receivers take. */
const SKEW_WORTH_TELLING_S = 150;

export function Attempt({ delivery, attempt }: { delivery: Body<"DeliveryDetail">; attempt: Attempted }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const isFine = attempt.outcome === "delivered";
  return (
    <Stack gap={6} data-attempt={attempt.outcome}>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          Attempt {attempt.number}
        </Text>
        <Mark word={isFine ? "delivered" : "failed"}>
          {`${attempt.status ? `${attempt.status}, ` : ""}${OUTCOMES[attempt.outcome] ?? attempt.outcome}`}
        </Mark>
        <Text size="xs" className="quiet" component="span">
          <When at={attempt.started_at} exact />
          {attempt.queued_ms > 0 && `, ${duration(attempt.queued_ms)} after it was due`}, because{" "}
          {TRIGGERS[attempt.trigger] ?? attempt.trigger}
        </Text>
      </Group>
      <Phases attempt={attempt} />
      {attempt.error && <Text size="sm">{attempt.error}</Text>}
      {Math.abs(attempt.clock_skew_s ?? 0) >= SKEW_WORTH_TELLING_S && (
        <Text size="sm">
          The receiver's clock is {Math.abs(attempt.clock_skew_s ?? 0)} s{" "}
          {(attempt.clock_skew_s ?? 0) > 0 ? "ahead of" : "behind"} ours. It may reject signatures.
        </Text>
      )}
      <Decided attempt={attempt} />
      <AttemptInLog
        delivery={delivery.id}
        attempts={delivery.attempts}
        id={attempt.id}
        at={attempt.started_at}
      />
      <div>
        <Button
          size="compact-xs"
          variant="subtle"
          aria-expanded={isOpen}
          leftSection={isOpen ? <IconChevronDown size={12} /> : <IconChevronRight size={12} />}
          onClick={toggle}
        >
          Request and response
        </Button>
      </div>
      <Collapse expanded={isOpen}>
        {isOpen && (
          <Stack gap="md">
            <Request delivery={delivery.id} attempt={attempt} />
            <Answer attempt={attempt} />
          </Stack>
        )}
      </Collapse>
    </Stack>
  );
}

/** What followed from it. */
function Decided({ attempt: { decision, outcome, retry_after_s } }: { attempt: Attempted }) {
  if (!decision || outcome === "delivered") return null;
  return (
    <Text size="xs" className="quiet" component="div">
      {retry_after_s != null && `The receiver asked us to wait ${duration(retry_after_s * 1_000)}. `}
      State after this attempt: {STATE_WORDS[decision.state] ?? decision.state}
      {decision.reason && ` (${REASONS[decision.reason] ?? decision.reason})`}
      {decision.next_at && (
        <>
          , next attempt due <When at={decision.next_at} exact />
        </>
      )}
    </Text>
  );
}

function Answer({ attempt }: { attempt: Attempted }) {
  if (attempt.status == null) {
    return (
      <Text size="sm" className="quiet">
        No response.
      </Text>
    );
  }
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        Response: {attempt.status}
        {attempt.remote_address && (
          <Text span size="xs" className="quiet" fw={400}>
            {" "}
            from {attempt.remote_address}
            {attempt.tls && `, ${attempt.tls}`}
          </Text>
        )}
      </Text>
      <Headers label="Response headers" headers={attempt.answer_headers} />
      {attempt.answer === "" ? (
        <Text size="xs" className="quiet">
          The response has no body.
        </Text>
      ) : (
        <>
          <Code
            block
            mah={240}
            style={{ overflow: "auto" }}
            tabIndex={0}
            role="region"
            aria-label="Response body"
          >
            {attempt.answer}
          </Code>
          <Text size="xs" className="quiet">
            Only the first 8 KiB of the response are stored.
          </Text>
        </>
      )}
    </Stack>
  );
}

export function Headers({ label, headers }: { label: string; headers: { name: string; value: string }[] }) {
  return (
    <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} aria-label={label} role="region">
      <Table aria-label={label} verticalSpacing={2} withRowBorders={false} highlightOnHover={false}>
        <Table.Tbody>
          {headers.map(({ name, value }) => (
            <Table.Tr key={`${name} ${value}`}>
              <Table.Th
                scope="row"
                className="mono"
                fw={600}
                style={{ whiteSpace: "nowrap", verticalAlign: "top" }}
              >
                {name}
              </Table.Th>
              <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
                {value}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
