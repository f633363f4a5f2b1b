// Every decision: what agents asked, the answers they got, and why.
import { Box, Button, Group, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconBellPlus, IconGavel } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAddress } from "../address";
import { asQuery } from "../events/filter";
import { Answered, Empty } from "../parts/Answered";
import { Snippet } from "../parts/Copy";
import { ManageButton } from "../parts/ManageButton";
import { Page, Panel } from "../parts/Page";
import { usePages } from "../parts/pages";
import { Rows } from "../parts/Rows";
import { type Range, TimeRange } from "../parts/TimeRange";
import { one, type Search } from "../search";
import { ViewActions } from "../views/ViewActions";
import { DecisionPanel } from "./DecisionPanel";
import { DecisionHead, DecisionRow } from "./DecisionRow";
import { DenyRate } from "./DenyRate";
import { FilterBar } from "./FilterBar";
import { decisions, facets } from "./list";
import { decisionIdOf, FILTERS, type Filters, filtersOf, isFiltered } from "./model";

export default function Decisions() {
  const [search, change] = useAddress();
  const navigate = useNavigate();
  const { range, filters } = useMemo(() => readSearch(search), [search]);
  const list = useInfiniteQuery(decisions(range, filters));
  const paging = usePages(list);
  const counts = useQuery(facets(range, filters));
  const setFilters = (next: Partial<Filters>) => change({ ...next, decision: undefined });
  const selected = one(search.decision);

  return (
    <Page
      title="Decisions"
      lead="What agents asked, the answers they got, and why."
      actions={
        <Group gap="xs">
          <TimeRange
            range={range}
            onChange={(next) => change({ last: undefined, from: undefined, to: undefined, ...next })}
          />
          <ManageButton
            size="xs"
            variant="default"
            leftSection={<IconBellPlus size={14} />}
            onClick={() => {
              const search = { list: "decisions", filter: asQuery(filters) };
              navigate({ to: "/rules/new", search: search as never });
            }}
          >
            Create rule
          </ManageButton>
          <ViewActions list="decisions" parameters={FILTERS} />
        </Group>
      }
    >
      <Panel title="Denied over time">
        <Answered query={counts}>
          {(data) => (
            <DenyRate
              facets={data}
              onChoose={(from, to) =>
                change({ last: undefined, from: from.toISOString(), to: to.toISOString() })
              }
            />
          )}
        </Answered>
      </Panel>
      <Panel>
        <FilterBar filters={filters} facets={counts.data} onChange={setFilters} />
        <Answered
          query={list}
          isEmpty={({ pages }) => pages.every((page) => page.data.length === 0) && !list.hasNextPage}
          empty={
            isFiltered(filters) ? (
              <Empty
                title="No matching decisions"
                action={
                  <Button
                    variant="default"
                    onClick={() =>
                      setFilters({ agent_id: [], action: [], result: [], q: undefined, filter: undefined })
                    }
                  >
                    Clear filters
                  </Button>
                }
              >
                Choose other values or a longer time range.
              </Empty>
            ) : (
              <NothingAsked />
            )
          }
        >
          {({ pages }) => (
            <List
              rows={pages.flatMap((page) => page.data)}
              selected={selected}
              onOpen={(id) => change({ decision: id, tab: undefined }, { replace: selected !== undefined })}
              {...paging}
            />
          )}
        </Answered>
      </Panel>
      <DecisionPanel
        id={selected}
        tab={one(search.tab) ?? "answer"}
        onTab={(tab) => change({ tab }, { replace: true })}
        onClose={() => change({ decision: undefined, tab: undefined })}
      />
    </Page>
  );
}

function readSearch(search: Search): { range: Range; filters: Filters } {
  const range = { last: one(search.last), from: one(search.from), to: one(search.to) };
  return { range, filters: filtersOf(search) };
}

interface ListProps {
  rows: Parameters<typeof decisionIdOf>[0][];
  selected: string | undefined;
  onOpen: (id: string) => void;
  isMore: boolean;
  onEnd: () => void;
}

function List({ rows, selected, onOpen, isMore, onEnd }: ListProps) {
  const isNarrow = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  return (
    <>
      {!isNarrow && <DecisionHead />}
      <Rows
        label="Decisions, newest first"
        rows={rows}
        idOf={decisionIdOf}
        selected={selected}
        onOpen={(row) => onOpen(decisionIdOf(row))}
        rowHeight={isNarrow ? 76 : 36}
        height="max(320px, calc(100dvh - 500px))"
        isMore={isMore}
        onEnd={onEnd}
      >
        {(row) => <DecisionRow decision={row} isNarrow={isNarrow} />}
      </Rows>
    </>
  );
}

/** Teaches how a decision comes to be. */
function NothingAsked() {
  const code = [
    `curl ${window.location.origin}/v1/runtime/decisions \\`,
    '  -H "Authorization: Bearer $WATCHBELL_API_KEY" -H "Content-Type: application/json" \\',
    '  -d \'{"agent_id": "billing-agent", "action": "payments.refund", "resource": "invoice:4711"}\'',
  ].join("\n");
  return (
    <Empty
      title="No decisions yet"
      icon={<IconGavel size={26} />}
      action={
        <Button component={Link} to="/policies" variant="default">
          View policies
        </Button>
      }
    >
      <Text mb="sm">
        Before an agent does something important, it asks for permission. Each question and its answer are
        listed here, with the policies that decided. Try it yourself:
      </Text>
      <Box ta="left">
        <Snippet code={code} of="command" />
      </Box>
    </Empty>
  );
}
