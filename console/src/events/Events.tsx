// The trail: search it, watch it live, export it.
import { ActionIcon, Box, Button, Drawer, Group, Menu, Switch, Text, Tooltip } from "@mantine/core";
import { useDisclosure, useMediaQuery, usePrevious } from "@mantine/hooks";
import { IconBellPlus, IconColumns, IconDownload, IconFilter, IconRefresh } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useAddress } from "../address";
import { useShortcuts } from "../parts/keys";
import { ManageButton } from "../parts/ManageButton";
import { Page } from "../parts/Page";
import { Share } from "../parts/Share";
import { type Range, TimeRange, timesOf } from "../parts/TimeRange";
import { all, one, type Search } from "../search";
import { ViewActions } from "../views/ViewActions";
import { ActiveFilters } from "./ActiveFilters";
import { CountLine } from "./CountLine";
import { LiveEvents, StoredEvents } from "./EventList";
import { EventPanel } from "./EventPanel";
import { COLUMNS, type Column } from "./EventRow";
import classes from "./Events.module.css";
import { ExportDialog } from "./ExportDialog";
import { FacetList } from "./FacetList";
import { useFacets } from "./facets";
import { asQuery, type Field, filterOf, inWords, KEPT, SEARCHES, toggled } from "./filter";
import { Histogram } from "./Histogram";
import { useEvents } from "./list";
import { useTail } from "./live-tail";
import { inWords as newerInWords, useNewer } from "./newer";
import { SearchBox } from "./SearchBox";
import { TailBar } from "./TailBar";

/** How often counts are asked for again while events come in. */
const COUNT_EVERY_MS = 10_000;
const NO_FILTER = Object.fromEntries(SEARCHES.map((name) => [name, undefined]));

export default function Events() {
  const [search, change] = useAddress();
  const navigate = useNavigate();
  const [asked, setAsked] = useState(0);
  const range: Range = { last: one(search.last), from: one(search.from), to: one(search.to) };
  // The times stand still until somebody asks again, because the pages of a list must agree on them.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` is the reason to look at the clock again.
  const times = useMemo(() => timesOf(range), [range.last, range.from, range.to, asked]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is not filtered by, such as the open event, makes no other filter.
  const filter = useMemo(() => filterOf(search, times), [times, said(search)]);
  const isLive = one(search.live) === "1" && times.to === undefined;
  const frame = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const events = useEvents(filter, asked);
  const facets = useFacets(filter, asked, isLive ? COUNT_EVERY_MS : false);
  const tail = useTail(filter, isLive, frame);
  const isOpenEnded = times.to === undefined && !isLive;
  const newer = useNewer(filter, events.loadedAt, events.rows, isOpenEnded);

  const isNarrow = useMediaQuery("(max-width: 62em)") ?? false;
  const isPhone = useMediaQuery("(max-width: 48em)") ?? false;
  const [isFacetsOpen, facetsDrawer] = useDisclosure(false);
  const [isExporting, exporting] = useDisclosure(false);

  const selected = one(search.event);
  const open = (row: { id: string }) => change({ event: row.id }, { replace: selected !== undefined });
  const close = () => {
    change({ event: undefined });
    frame.current?.focus({ preventScroll: true });
  };
  const toggle = (field: Field, value: string) => change({ [field]: toggled(search, field, value) });
  const setLive = (on: boolean) => change({ live: on ? "1" : undefined });
  // The list is from before: what came live is not in it.
  const wasLive = usePrevious(isLive);
  useEffect(() => {
    if (wasLive && !isLive) setAsked((before) => before + 1);
  }, [wasLive, isLive]);
  const setRange = (next: Range) => change({ last: next.last, from: next.from, to: next.to });
  const { hide } = search;
  const columns = useMemo(() => COLUMNS.filter((column) => !all(hide).includes(column)), [hide]);

  /** Keys that the list takes go to it wherever the focus is. */
  const walk = (key: string) => () => {
    frame.current?.focus({ preventScroll: true });
    frame.current?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  };
  useShortcuts("Events", [
    { keys: ["j"], about: "Next event", run: walk("j") },
    { keys: ["k"], about: "Previous event", run: walk("k") },
    { keys: ["Enter"], about: "Open event" },
    { keys: ["Escape"], about: "Close event", run: selected === undefined ? undefined : close },
    { keys: ["/"], about: "Search", run: () => input.current?.focus() },
    { keys: ["l"], about: "Turn live tail on or off", run: () => setLive(!isLive) },
    {
      keys: [" "],
      about: "Pause or resume live tail",
      run: isLive ? (tail.isPaused ? tail.resume : tail.pause) : undefined,
    },
  ]);

  const facetList = <FacetList {...facets} search={search} onToggle={toggle} />;
  const list = { selected, onOpen: open, onClose: close, columns, isNarrow: isPhone, frame };
  return (
    <Page
      title="Events"
      lead="Everything your agents did, newest first."
      actions={
        <>
          <Tooltip
            label={times.to ? "Live tail needs an open-ended time range" : "Show events as they arrive"}
          >
            <Switch
              label="Live"
              checked={isLive}
              disabled={times.to !== undefined}
              onChange={(event) => setLive(event.currentTarget.checked)}
            />
          </Tooltip>
          <ManageButton
            size="xs"
            variant="default"
            leftSection={<IconDownload size={14} />}
            onClick={exporting.open}
          >
            Export
          </ManageButton>
          <ManageButton
            size="xs"
            variant="default"
            leftSection={<IconBellPlus size={14} />}
            onClick={() => navigate({ to: "/rules/new", search: { filter: asQuery(filter) } as never })}
          >
            Create rule
          </ManageButton>
          <ViewActions list="events" parameters={KEPT} />
          <ColumnMenu hidden={all(hide)} onChange={(hidden) => change({ hide: hidden }, { replace: true })} />
        </>
      }
    >
      <Group gap="xs" align="flex-start">
        <TimeRange range={range} onChange={setRange} />
        <Tooltip label="Refresh">
          <ActionIcon variant="default" aria-label="Refresh" onClick={() => setAsked(asked + 1)}>
            <IconRefresh size={16} />
          </ActionIcon>
        </Tooltip>
        <Share times={times} />
        <SearchBox
          text={filter.filter ?? ""}
          onChange={(text) => change({ filter: text })}
          input={input}
          counts={facets.query.data}
        />
        <Button
          size="xs"
          variant="default"
          hiddenFrom="md"
          leftSection={<IconFilter size={14} />}
          onClick={facetsDrawer.open}
        >
          Filters
        </Button>
      </Group>
      <ActiveFilters
        search={search}
        onRemove={toggle}
        onRemoveText={() => change({ q: undefined })}
        onRemoveAll={() => change(NO_FILTER)}
      />
      <div className={classes.screen} data-open={(selected !== undefined && !isNarrow) || undefined}>
        <Box className={classes.facets} component="aside" aria-label="Filters" tabIndex={0}>
          {!isNarrow && facetList}
        </Box>
        <Box miw={0}>
          {(facets.query.data !== undefined || !facets.query.isError) && (
            <Histogram
              counts={facets.query.data}
              onChoose={(from, to) => setRange({ from: from.toISOString(), to: to.toISOString() })}
            />
          )}
          <Group my="xs" gap="sm">
            {isLive ? <TailBar tail={tail} /> : <CountLine facets={facets.query} events={events} />}
            <Text component="div" aria-live="polite">
              {newer > 0 && (
                <Button size="compact-xs" radius="xl" onClick={() => setAsked(asked + 1)} data-newer={newer}>
                  {newerInWords(newer)}
                </Button>
              )}
            </Text>
          </Group>
          {isLive ? (
            <LiveEvents tail={tail} {...list} />
          ) : (
            <StoredEvents
              events={events}
              isFiltered={inWords(filter).length > 0}
              onShowAll={() => change({ ...NO_FILTER, from: undefined, to: undefined, last: "30d" })}
              {...list}
            />
          )}
        </Box>
        {selected !== undefined && (
          <EventPanel
            id={selected}
            isNarrow={isNarrow}
            onClose={close}
            onFilter={(field, value) => change({ [field]: [value] })}
            onTerm={(term) => change({ filter: [filter.filter, term].filter(Boolean).join(" ") })}
            onRelated={(field, value) => change({ ...NO_FILTER, [field]: [value] })}
          />
        )}
      </div>
      <Drawer
        opened={isFacetsOpen && isNarrow}
        onClose={facetsDrawer.close}
        position="left"
        size="xs"
        title="Filters"
        closeButtonProps={{ "aria-label": "Close filters" }}
      >
        {facetList}
      </Drawer>
      <ExportDialog
        opened={isExporting}
        onClose={exporting.close}
        filter={filter}
        counts={facets.query.data}
      />
    </Page>
  );
}

/** What of the address filters, as one text that can be compared. */
function said(search: Search): string {
  return JSON.stringify(filterOf(search, {}));
}

function ColumnMenu({ hidden, onChange }: { hidden: string[]; onChange: (hidden: string[]) => void }) {
  const flip = (column: Column) =>
    hidden.includes(column) ? hidden.filter((other) => other !== column) : [...hidden, column];
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label="Columns" visibleFrom="sm">
          <IconColumns size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {COLUMNS.map((column) => (
          <Menu.CheckboxItem
            key={column}
            checked={!hidden.includes(column)}
            onChange={() => onChange(flip(column))}
          >
            {column}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
