// The health of receivers: failing ones first, then those with recent deliveries.
import { Table, Text } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { To } from "../parts/To";
import { When } from "../parts/When";
import { one } from "../search";
import { type Health, healthByDeliveries, healthOf } from "./health";

/** The newest deliveries in which receivers are looked for that never were in trouble. */
const LOOKED_AT = 500;

export default function Endpoints() {
  const [search] = useAddress();
  const status = one(search.status);
  const isWanted = (endpoint: Listed) => status === undefined || endpoint.status === status;
  const endpoints = useQuery({
    queryKey: ["endpoints"],
    queryFn: async () => {
      const [troubled, lately] = await Promise.all([
        answer(api.GET("/v1/endpoints", { params: { query: { limit: 200 } } })),
        answer(api.GET("/v1/deliveries", { params: { query: { limit: LOOKED_AT } } })),
      ]);
      const now = new Date();
      const known = troubled.data.map((endpoint) => ({ ...endpoint, health: healthOf(endpoint, now) }));
      return [...known, ...others(lately.data, troubled.data)];
    },
    refetchInterval: 15_000,
  });
  return (
    <Page
      title="Endpoints"
      lead="An endpoint is one URL that rules send to. See the health of each and why deliveries to it are held."
    >
      <Answered
        query={endpoints}
        isEmpty={(all) => all.every((endpoint) => !isWanted(endpoint))}
        empty={
          status ? (
            <NoneFits status={status} />
          ) : (
            <Empty title="No endpoints yet" icon={<IconWorld size={26} />}>
              Every URL that an <To path="/rules">alert rule</To> has sent to is listed here with its health.
            </Empty>
          )
        }
      >
        {(all) => (
          <Panel>
            {status && (
              <Text size="sm" mb="xs">
                Only {status} endpoints. <To path="/endpoints">Show all endpoints</To>
              </Text>
            )}
            <Stacked label="Endpoints" head={["Endpoint", "Health", "Failing since", "Last error"]}>
              {all.filter(isWanted).map((endpoint) => (
                <Row key={endpoint.id} endpoint={endpoint} />
              ))}
            </Stacked>
          </Panel>
        )}
      </Answered>
    </Page>
  );
}

function NoneFits({ status }: { status: string }) {
  return (
    <Empty title={`No ${status} endpoints`} icon={<IconWorld size={26} />}>
      <To path="/endpoints">Show all endpoints</To>
    </Empty>
  );
}

type Listed = Pick<Body<"Endpoint">, "id" | "url" | "status" | "failing" | "last_error"> & {
  health: Pick<Health, "word" | "label">;
};

/** The API lists those that are or were in trouble. Others are known by their deliveries. */
function others(deliveries: Body<"DeliveryBody">[], known: Body<"Endpoint">[]): Listed[] {
  const troubled = new Set(known.map(({ id }) => id));
  const urls = new Map(deliveries.map(({ endpoint_id, url }) => [endpoint_id, url]));
  return [...urls]
    .filter(([id]) => !troubled.has(id))
    .map(([id, url]) => {
      const own = deliveries.filter(({ endpoint_id }) => endpoint_id === id);
      return { id, url, status: "active", health: healthByDeliveries(own) };
    });
}

function Row({ endpoint }: { endpoint: Listed }) {
  const { word, label } = endpoint.health;
  return (
    <Table.Tr>
      <Table.Td data-label="Endpoint">
        <To path={`/endpoints/${endpoint.id}`}>
          <Text span className="mono" style={{ overflowWrap: "anywhere" }}>
            {endpoint.url}
          </Text>
        </To>
      </Table.Td>
      <Table.Td data-label="Health">
        <Mark word={word}>{label}</Mark>
      </Table.Td>
      <Table.Td data-label="Failing since">
        {endpoint.failing ? <When at={endpoint.failing.since} /> : <span className="quiet">not failing</span>}
      </Table.Td>
      <Table.Td data-label="Last error">
        <Text size="sm" maw={420}>
          {endpoint.last_error ?? <span className="quiet">none</span>}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
