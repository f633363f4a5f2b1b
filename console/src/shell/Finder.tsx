// What Ctrl-K opens: every screen and what has a name, things to do, and any object by ID.
import "../styles/rest";
import "@mantine/spotlight/styles.css";
import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { createSpotlight, Spotlight } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMayManage, useMe } from "../api/queries";
import { useZone, type Zone } from "../parts/clock";
import { shortcutGroups, useSingleKeys } from "../parts/keys";
import { namedRanges } from "../parts/TimeRange";
import { agentOf, namesOf, useNames } from "./names";
import { PLACES } from "./places";

const [store, spotlight] = createSpotlight();
export const { open } = spotlight;

/** How many names of a kind are listed at once: more is no help, and somebody writes on. */
const NAMES_MAX = 8;

/** It was asked for before it came, so it opens at once. */
export default function Finder() {
  useEffect(open, []);
  useEffect(selectOne);
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const { operator } = useMe().user;
  const { names: known, failed } = useNames();
  const names = namesOf(known, text, NAMES_MAX);
  const places = PLACES.map(({ group, places }) => ({
    group,
    actions: places
      .filter((place) => operator || !place.operators)
      .map((place) => ({
        id: place.to,
        label: place.name,
        description: place.about,
        leftSection: <place.icon size={18} aria-hidden />,
        onClick: () => navigate({ to: place.to }),
      })),
  }));
  const kinds = [...new Set(names.map(({ kind }) => kind))];
  const named = kinds.map((kind) => ({
    group: kind,
    actions: names
      .filter((one) => one.kind === kind)
      .map(({ id, name, about, href }) => ({
        id,
        label: name,
        description: about,
        onClick: () => navigate({ href }),
      })),
  }));
  const sought = text.trim();
  // Only some agents are known here, and any can be asked for.
  const others = sought !== "" && names.length === 0 ? [agentOf(sought)] : [];
  const more = [
    ...others.map(({ id, name, href }) => ({
      id,
      label: `Search events for agent “${name}”`,
      onClick: () => navigate({ href }),
    })),
    ...(failed.length === 0
      ? []
      : [
          {
            id: "names-failed",
            label: "Some names couldn't be loaded. Try again",
            // Whatever is looked for could be among them.
            keywords: text,
            closeSpotlightOnTrigger: false,
            onClick: () => {
              for (const query of failed) void query.refetch();
            },
          },
        ]),
  ];
  return (
    <Spotlight
      store={store}
      actions={[
        ...named,
        { group: "Actions", actions: useDeeds() },
        ...places,
        { group: "More", actions: more },
      ]}
      shortcut={null}
      scrollable
      maxHeight={480}
      attributes={{ content: { "aria-label": "Go to" } }}
      nothingFound="No matches."
      searchProps={{
        placeholder: "Search pages, views, rules, agents and actions, or paste an ID",
        leftSection: <IconSearch size={18} />,
        "aria-label": "Page, name or ID",
      }}
      onQueryChange={(written) => {
        setText(written);
        const id = written.trim();
        const href = known.find((one) => one.kind === "Views" && one.id === id)?.href ?? placeOf(id);
        if (href === undefined) return;
        spotlight.close();
        navigate({ href });
      }}
    />
  );
}

/**
 * Selects the first if nothing is selected. Names may arrive after somebody wrote one; what was selected until then is
 * gone, and Enter would do nothing.
 */
function selectOne(): void {
  const { listId, query } = store.getState();
  const list = document.getElementById(listId);
  if (query.trim() === "" || list === null || list.querySelector("[data-selected]") !== null) return;
  list.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  store.updateState((state) => ({ ...state, selected: 0 }));
}

/** What can be done from anywhere. */
function useDeeds() {
  const navigate = useNavigate();
  const mayManage = useMayManage();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light") === "dark" ? "light" : "dark";
  const [zone, setZone] = useZone();
  const [keys, setKeys] = useSingleKeys();
  const to = (href: string) => () => void navigate({ href });
  const managing = [
    { id: "do-rule", label: "Create rule", keywords: "new alert rule", onClick: to("/rules/new") },
    { id: "do-policy", label: "Write a policy version", onClick: to("/policies/new") },
    { id: "do-key", label: "Create API key", onClick: to("/keys") },
    { id: "do-invite", label: "Invite a member", onClick: to("/members") },
  ];
  const looking = [
    {
      id: "do-denied",
      label: "Show yesterday's denied events",
      onClick: () => to(deniedYesterday(zone))(),
    },
    {
      id: "do-theme",
      label: `Use ${scheme} theme`,
      keywords: "toggle dark light theme",
      onClick: () => setColorScheme(scheme),
    },
    {
      id: "do-zone",
      label: `Show times in ${zone === "utc" ? "local time" : "UTC"}`,
      keywords: "time zone utc local",
      onClick: () => setZone(zone === "utc" ? "local" : "utc"),
    },
    {
      id: "do-single-keys",
      label: `Turn ${keys === "on" ? "off" : "on"} single-key shortcuts`,
      keywords: "keyboard keys accessibility",
      onClick: () => setKeys(keys === "on" ? "off" : "on"),
    },
    { id: "do-keys", label: "Show keyboard shortcuts", onClick: showKeys },
  ];
  return mayManage ? [...managing, ...looking] : looking;
}

function deniedYesterday(zone: Zone): string {
  const { from, to } = namedRanges(new Date(), zone).Yesterday;
  return `/events?result=denied&from=${from}&to=${to}`;
}

/** Once the finder is away: two dialogs at once would be one too many. */
function showKeys(): void {
  const shortcuts = shortcutGroups().flatMap((group) => group.shortcuts);
  setTimeout(() => shortcuts.find(({ keys }) => keys.includes("?"))?.run?.(), 0);
}

const ID = /^(evt|rul|dlv|dec|end|exp)_[0-9a-z]{26}$/;

/** Where what an id names is shown. */
function placeOf(id: string): string | undefined {
  const kind = ID.exec(id)?.[1];
  switch (kind) {
    case "evt":
      return `/events?event=${id}`;
    case "rul":
      return `/rules/${id}`;
    case "dlv":
      return `/deliveries/${id}`;
    case "dec":
      return `/decisions?decision=${id}`;
    case "end":
      return `/endpoints/${id}`;
    case "exp":
      return "/exports";
    default:
      return undefined;
  }
}
