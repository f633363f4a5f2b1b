// Resolved approvals from the trail, newest first.
import { Box, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { Answered, Empty } from "../parts/Answered";
import { Mark } from "../parts/Mark";
import { usePages } from "../parts/pages";
import { Rows } from "../parts/Rows";
import { When } from "../parts/When";
import { type End, endOf } from "./record";

interface HistoryProps {
  /** `approved`, `denied`, `timed_out`, or `ended` for all of them. */
  status: string;
  selected: string | undefined;
  onOpen: (decisionId: string) => void;
}

export function History({ status, selected, onOpen }: HistoryProps) {
  const isNarrow = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  const query = useInfiniteQuery({
    queryKey: ["approvals", "ended", status],
    queryFn: async ({ pageParam }) => {
      const result = status === "ended" ? undefined : [status];
      const cursor = pageParam === "" ? undefined : pageParam;
      const wanted = { event_type: ["approval"], source: ["server"], result, limit: 100, cursor };
      const page = await answer(api.GET("/v1/audit/events", { params: { query: wanted } }));
      return { ...page, data: page.data.map(endOf) };
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const paging = usePages(query);
  return (
    <Answered
      query={query}
      isEmpty={({ pages }) => pages.every(({ data }) => data.length === 0) && !query.hasNextPage}
      empty={
        <Empty title="No approvals">
          Requests that people approve or deny, or that no one answers in time, are recorded in the trail and
          listed here.
        </Empty>
      }
    >
      {({ pages }) => (
        <Rows
          label="Resolved approvals, newest first"
          rows={pages.flatMap(({ data }) => data)}
          idOf={(end) => end.decision_id ?? end.id}
          selected={selected}
          onOpen={(end) => onOpen(end.decision_id ?? end.id)}
          rowHeight={isNarrow ? 76 : 36}
          height="max(320px, calc(100dvh - 260px))"
          {...paging}
        >
          {(end) => (isNarrow ? <NarrowRow end={end} /> : <Row end={end} />)}
        </Rows>
      )}
    </Answered>
  );
}

function Row({ end }: { end: End }) {
  return (
    <>
      <Box w={172} style={{ flexShrink: 0 }} className="quiet">
        <When at={end.occurred_at} exact />
      </Box>
      <Box w={96} style={{ flexShrink: 0 }}>
        <Mark word={end.result}>{end.result.replace("_", " ")}</Mark>
      </Box>
      <Box w={140} className="truncate" style={{ flexShrink: 0 }}>
        {end.agent_id}
      </Box>
      <Box w={170} className="truncate mono" style={{ flexShrink: 0 }}>
        {end.action}
      </Box>
      <Box w={130} className="truncate mono quiet" style={{ flexShrink: 0 }}>
        {end.resource}
      </Box>
      <Box className="truncate" style={{ flexGrow: 1 }}>
        {end.metadata.note ? `“${end.metadata.note}”` : end.metadata.reason}
      </Box>
    </>
  );
}

function NarrowRow({ end }: { end: End }) {
  return (
    <Box miw={0} w="100%">
      <Mark word={end.result}>{end.result.replace("_", " ")}</Mark>{" "}
      <Text span size="xs" className="quiet">
        <When at={end.occurred_at} />
      </Text>
      <Text size="sm" className="truncate">
        {end.agent_id} · {end.action} {end.resource}
      </Text>
      <Text size="xs" className="truncate quiet">
        {end.metadata.note ? `“${end.metadata.note}”` : end.metadata.reason}
      </Text>
    </Box>
  );
}
