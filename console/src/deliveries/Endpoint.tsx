// One endpoint: its health, its notifications, and pausing it.
import { Group, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Answered } from "../parts/Answered";
import { Confirm } from "../parts/Confirm";
import { Id } from "../parts/Copy";
import { useNow } from "../parts/clock";
import { Facts } from "../parts/Facts";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { counted } from "../parts/numbers";
import { Page, Panel } from "../parts/Page";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { healthOf, NOTICES, rateOf, runs, tallyOf } from "./health";

type Detail = Body<"EndpointDetail">;

export default function Endpoint() {
  const { id = "" } = useParams({ strict: false }) as { id?: string };
  const endpoint = useQuery({
    queryKey: ["endpoint", id],
    queryFn: () => answer(api.GET("/v1/endpoints/{id}", { params: { path: { id } } })),
    refetchInterval: 10_000,
  });
  return (
    <Page
      title="Endpoint"
      lead={
        <Group gap="xs">
          <span className="mono" style={{ overflowWrap: "anywhere" }}>
            {endpoint.data?.url}
          </span>
          <Id id={id} />
        </Group>
      }
      actions={
        endpoint.data && (
          <Group gap="xs">
            {mayBeAsked(endpoint.data) && <Verify endpoint={endpoint.data} />}
            <PauseOrResume endpoint={endpoint.data} />
          </Group>
        )
      }
    >
      <Answered query={endpoint}>
        {(data) => (
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <HealthPanel endpoint={data} />
            {data.ownership && <OwnershipPanel ownership={data.ownership} />}
            <Lately url={data.url} />
            <Notices notices={data.notices} />
          </SimpleGrid>
        )}
      </Answered>
    </Page>
  );
}

function HealthPanel({ endpoint }: { endpoint: Detail }) {
  const { word, label, about } = healthOf(endpoint, useNow());
  const { breaker, failing } = endpoint;
  return (
    <Panel title="Health">
      <Group gap="xs" mb="sm" align="flex-start" wrap="nowrap" data-health={label}>
        <Mark word={word}>{label}</Mark>
        <Text size="sm">{about}</Text>
      </Group>
      <Facts
        of={{
          Since: endpoint.status_since && <When at={endpoint.status_since} />,
          "Failing since": failing && (
            <>
              <When at={failing.since} />, {counted(failing.attempts, "attempt")} in a row
            </>
          ),
          "Breaker open since": breaker && <When at={breaker.open_since} />,
          "Next probe": breaker && (
            <>
              <When at={breaker.probe_at} />, after {counted(breaker.probes, "probe")}
            </>
          ),
          "Backing off until": endpoint.quiet_until && <When at={endpoint.quiet_until} />,
          "Last error": endpoint.last_error,
        }}
      />
    </Panel>
  );
}

function OwnershipPanel({ ownership }: { ownership: Body<"EndpointOwnership"> }) {
  const isVerified = ownership.state === "verified";
  return (
    <Panel title="Ownership">
      <Group gap="xs" mb="sm" align="flex-start" wrap="nowrap">
        <Mark word={isVerified ? "ok" : "held"}>{isVerified ? "Verified" : "Not verified"}</Mark>
        <Text size="sm">
          {isVerified
            ? "The receiver returned the challenge."
            : "Nothing is sent until the receiver returns the challenge. New deliveries wait until then."}
        </Text>
      </Group>
      <Facts
        of={{
          Verified: ownership.verified_at && <When at={ownership.verified_at} />,
          "Last challenge": ownership.asked_at && <When at={ownership.asked_at} />,
          "Next challenge": ownership.next_at && <When at={ownership.next_at} />,
          "Last error": ownership.error,
        }}
      />
    </Panel>
  );
}

/** How many of the newest deliveries are looked at: enough for a rate, few enough to be asked at once. */
const NEWEST = 100;

function Lately({ url }: { url: string }) {
  const deliveries = useQuery({
    queryKey: ["deliveries", "of", url],
    queryFn: () => answer(api.GET("/v1/deliveries", { params: { query: { url, limit: NEWEST } } })),
    refetchInterval: 15_000,
  });
  return (
    <Panel title="Recent deliveries">
      <Answered
        query={deliveries}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <Text size="sm" className="quiet" data-state="empty">
            Nothing has been sent to this endpoint yet.
          </Text>
        }
      >
        {({ data }) => {
          const tally = tallyOf(data);
          const rate = rateOf(tally);
          const share = (part: number) => (part / data.length) * 100;
          return (
            <Stack gap="xs">
              <Text>
                {rate === undefined ? (
                  `None of the newest ${data.length} has finished yet`
                ) : (
                  <>
                    <b>{rate} delivered</b>{" "}
                    <Text span size="sm" className="quiet">
                      of the newest {tally.delivered + tally.failed + tally.held} that finished or are held
                    </Text>
                  </>
                )}
              </Text>
              <Progress.Root size="lg" aria-hidden>
                <Progress.Section value={share(tally.delivered)} color="teal.7" />
                <Progress.Section value={share(tally.failed)} color="red.7" />
                <Progress.Section value={share(tally.held)} color="orange.7" />
                <Progress.Section value={share(tally.waiting)} color="yellow.6" />
              </Progress.Root>
              <Text size="sm">
                {tally.delivered} delivered, {tally.failed} failed, {tally.held} held, {tally.waiting} in
                progress
              </Text>
              <Text size="sm">
                <To path="/deliveries" with={{ url }}>
                  View deliveries
                </To>
              </Text>
            </Stack>
          );
        }}
      </Answered>
    </Panel>
  );
}

function Notices({ notices }: { notices: Body<"EndpointNotice">[] }) {
  return (
    <Panel title="Notifications">
      {notices.length === 0 ? (
        <Text size="sm" className="quiet">
          None. Owners and admins are emailed when the endpoint fails for a while, rejects deliveries, or is
          disabled. Those notifications are listed here.
        </Text>
      ) : (
        <Stack gap="xs">
          {runs(notices).map(({ notice, at, error, mailed_at, times }) => (
            <div key={`${notice} ${at}`}>
              <Text size="sm" component="div">
                <b>{NOTICES[notice] ?? notice}</b>
                {times > 1 && ` (${times} times)`}{" "}
                <Text span size="xs" className="quiet">
                  <When at={at} />
                  {mailed_at && (
                    <>
                      , emailed <When at={mailed_at} />
                    </>
                  )}
                </Text>
              </Text>
              {error && (
                <Text size="xs" className="quiet">
                  {error}
                </Text>
              )}
            </div>
          ))}
        </Stack>
      )}
    </Panel>
  );
}

/** Nothing is sent to what is paused or disabled, and so no challenge either. */
function mayBeAsked({ ownership, status }: Detail): boolean {
  return ownership?.state === "unverified" && status === "active";
}

/** Has the server ask the receiver again, for somebody who has just mended it. */
function Verify({ endpoint }: { endpoint: Detail }) {
  const [isAsking, setAsking] = useState(false);
  const act = async () => {
    const params = { path: { id: endpoint.id } };
    const next = await answer(api.POST("/v1/endpoints/{id}/verify", { params }));
    queries.setQueryData(["endpoint", endpoint.id], next);
  };
  const done = () => {
    setAsking(false);
    notifications.show({
      title: "Challenge sent",
      message: "The result appears on this page in a moment.",
      color: "teal",
    });
  };
  return (
    <>
      <ManageButton onClick={() => setAsking(true)}>Verify</ManageButton>
      {isAsking && (
        <Confirm
          title="Send the challenge now?"
          action="Send challenge"
          isMild
          act={act}
          done={done}
          close={() => setAsking(false)}
        >
          <Text size="sm">
            Watchbell sends the endpoint a signed request with a random value. If the endpoint returns that
            value, it is verified, and waiting deliveries are sent.
          </Text>
        </Confirm>
      )}
    </>
  );
}

function PauseOrResume({ endpoint }: { endpoint: Detail }) {
  const [isAsking, setAsking] = useState(false);
  const isStopped = endpoint.status !== "active";
  const act = async () => {
    const params = { path: { id: endpoint.id } };
    const next = isStopped
      ? await answer(api.POST("/v1/endpoints/{id}/resume", { params }))
      : await answer(api.POST("/v1/endpoints/{id}/pause", { params }));
    queries.setQueryData(["endpoint", endpoint.id], next);
  };
  const done = () => {
    setAsking(false);
    queries.invalidateQueries({ queryKey: ["endpoints"] });
    notifications.show({
      title: isStopped ? "Resumed" : "Paused",
      message: isStopped ? "New deliveries are sent from now on." : "Nothing is sent until you resume it.",
      color: "teal",
    });
  };
  return (
    <>
      <ManageButton variant={isStopped ? "filled" : "default"} onClick={() => setAsking(true)}>
        {isStopped ? "Resume" : "Pause"}
      </ManageButton>
      {isAsking && (
        <Confirm
          title={isStopped ? "Resume this endpoint?" : "Pause this endpoint?"}
          action={isStopped ? "Resume endpoint" : "Pause endpoint"}
          isMild
          act={act}
          done={done}
          close={() => setAsking(false)}
        >
          <Stack>
            <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
              {endpoint.url}
            </Text>
            <Text size="sm">
              {isStopped
                ? "New deliveries are sent from now on. Deliveries held so far stay held; resend them from the Deliveries page."
                : "Nothing is sent to this endpoint, whichever rule names it, until someone resumes it. New deliveries are held and can be resent. Watchbell records who paused it."}
            </Text>
          </Stack>
        </Confirm>
      )}
    </>
  );
}
