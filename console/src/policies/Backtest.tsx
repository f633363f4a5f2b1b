// What a version would have decided for recent questions.
import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { useMayManage } from "../api/queries";
import { Answered } from "../parts/Answered";
import { timesOf } from "../parts/TimeRange";
import { When } from "../parts/When";
import { Flips } from "./Flips";

const SPANS = [
  { value: "1h", label: "last hour" },
  { value: "24h", label: "last 24 hours" },
  { value: "7d", label: "last 7 days" },
];

/** Made again only when somebody asks: it is work for the server, and few are allowed in a minute. */
function backtest(version: number, last: string) {
  return {
    queryKey: ["backtest", version, last],
    queryFn: () => {
      const { from } = timesOf({ last });
      const params = { path: { version } };
      return answer(api.POST("/v1/policies/versions/{version}/backtest", { params, body: { from } }));
    },
    staleTime: Number.POSITIVE_INFINITY,
  };
}

export function Backtest({ version }: { version: number }) {
  const [last, setLast] = useState("24h");
  const mayManage = useMayManage();
  const query = useQuery({ ...backtest(version, last), enabled: mayManage });
  const name = SPANS.find(({ value }) => value === last)?.label ?? last;
  if (!mayManage) {
    return (
      <Text size="sm" className="quiet" data-testid="flips">
        Only admins and owners can backtest policies. Ask one of them.
      </Text>
    );
  }
  return (
    <>
      <Group justify="space-between" mb="sm">
        <SegmentedControl size="xs" aria-label="How far back" data={SPANS} value={last} onChange={setLast} />
        <Button size="xs" variant="default" loading={query.isFetching} onClick={() => query.refetch()}>
          Refresh
        </Button>
      </Group>
      <Answered query={query}>
        {(data) => (
          <>
            <Flips of={data} since={`in the ${name}`} />
            {data.searched_to && (
              <Text size="sm" className="quiet" mt="xs">
                Time ran out: only decisions since <When at={data.searched_to} exact /> were evaluated.
              </Text>
            )}
          </>
        )}
      </Answered>
    </>
  );
}
