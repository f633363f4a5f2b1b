// From an event to its alerts: the rule that matched, the delivery, its attempts and the receiver's answer.
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Why } from "../alerts/Why";
import { answer, api, type Body } from "../api/client";
import { CAUSES, REASONS, STATE_WORDS } from "../deliveries/states";
import type { AuditEvent } from "../events/row";
import { Answered } from "../parts/Answered";
import { useNow } from "../parts/clock";
import { Mark } from "../parts/Mark";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { isFresh, withoutAlerts } from "./alerts";
import { ChainLink } from "./ChainLink";
import { responseOf } from "./response";

/** Few events raise more alerts than this; the list has them all. */
const SHOWN_MAX = 5;
/** How often alerts are asked for while an event is so new that they may be still to come. */
const ASK_EVERY_MS = 3_000;

function deliveriesOf(event: string) {
  return queryOptions({
    queryKey: ["deliveries", "of", event],
    queryFn: () => {
      const query = { event_id: event, limit: SHOWN_MAX + 1 };
      return answer(api.GET("/v1/deliveries", { params: { query } }));
    },
  });
}

function deliveryOf(id: string) {
  return queryOptions({
    queryKey: ["delivery", id],
    queryFn: () => answer(api.GET("/v1/deliveries/{id}", { params: { path: { id } } })),
  });
}

/** A rule never matches otherwise afterwards. */
function conditionsOf(id: string) {
  return queryOptions({
    queryKey: ["conditions", id],
    queryFn: () => answer(api.GET("/v1/deliveries/{id}/conditions", { params: { path: { id } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function AlertLinks({ event }: { event: AuditEvent }) {
  const { data, error } = useQuery({
    ...deliveriesOf(event.id),
    refetchInterval: ({ state }) =>
      state.data?.data.length === 0 && isFresh(event.received_at, Date.now()) ? ASK_EVERY_MS : false,
  });
  const now = useNow();
  if (!data) return <ChainLink name="Alert" error={error} />;
  if (data.data.length === 0) {
    return (
      <ChainLink name="Alert" isMissing>
        {withoutAlerts(event.received_at, now.getTime())}
      </ChainLink>
    );
  }
  const shown = data.data.slice(0, SHOWN_MAX);
  return (
    <>
      {shown.map((delivery) => (
        <DeliveryLinks key={delivery.id} delivery={delivery} isOpen={shown.length === 1} />
      ))}
      {data.data.length > SHOWN_MAX && (
        <ChainLink name="More alerts">
          <To path="/deliveries" with={{ event_id: event.id }}>
            View all deliveries of this event
          </To>
        </ChainLink>
      )}
    </>
  );
}

interface DeliveryLinksProps {
  delivery: Body<"DeliveryBody"> | Body<"DeliveryDetail">;
  /** With its attempts, without being asked. */
  isOpen: boolean;
}

export function DeliveryLinks({ delivery, isOpen }: DeliveryLinksProps) {
  const [isShown, { open }] = useDisclosure(isOpen);
  const { state, reason } = delivery;
  return (
    <>
      <RuleLink delivery={delivery} />
      <ChainLink name="Delivery">
        <Mark word={state}>{STATE_WORDS[state]}</Mark> {reason && `${REASONS[reason] ?? reason} `}
        <To path={`/deliveries/${delivery.id}`}>View delivery</To>{" "}
        {!isShown && (
          <Button size="compact-xs" variant="subtle" onClick={open}>
            Show attempts
          </Button>
        )}
      </ChainLink>
      {isShown && <Attempts delivery={delivery} />}
    </>
  );
}

function RuleLink({ delivery }: { delivery: Body<"DeliveryBody"> }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const { cause, suppressed } = delivery;
  const isTest = cause === "test";
  return (
    <ChainLink name="Rule">
      <To path={`/rules/${delivery.rule_id}`}>{delivery.rule_name}</To>{" "}
      {cause === "match"
        ? "matched"
        : `sent ${CAUSES[cause] ?? cause}${suppressed > 0 ? ` (${suppressed})` : ""}`}{" "}
      <When at={delivery.matched_at} exact />{" "}
      {!isTest && (
        <Button size="compact-xs" variant="subtle" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? "Hide conditions" : "Show conditions"}
        </Button>
      )}
      {isOpen && <Conditions delivery={delivery.id} />}
    </ChainLink>
  );
}

function Conditions({ delivery }: { delivery: string }) {
  const query = useQuery(conditionsOf(delivery));
  return (
    <Answered query={query}>
      {(met) => (
        <>
          <Text size="xs" className="quiet" my={4}>
            Version {met.rule_version} of the rule, as it was then:
          </Text>
          <Why tried={met} />
        </>
      )}
    </Answered>
  );
}

function Attempts({ delivery }: { delivery: DeliveryLinksProps["delivery"] }) {
  const known = "attempt_log" in delivery ? delivery : undefined;
  const query = useQuery({ ...deliveryOf(delivery.id), enabled: known === undefined });
  const detail = known ?? query.data;
  const last = detail?.attempt_log.at(-1);
  if (detail && !last) {
    return (
      <ChainLink name="Attempts" isMissing>
        {detail.explanation}
      </ChainLink>
    );
  }
  return (
    <>
      <ChainLink name="Attempts" error={query.error}>
        {detail && last && (
          <>
            {detail.attempts === 1 ? "1 attempt" : `${detail.attempts} attempts`}, the last{" "}
            <When at={last.started_at} />
            {detail.next_at && (
              <>
                , the next <When at={detail.next_at} />
              </>
            )}
          </>
        )}
      </ChainLink>
      {last && <ChainLink name="Response">{responseOf(last)}</ChainLink>}
    </>
  );
}
