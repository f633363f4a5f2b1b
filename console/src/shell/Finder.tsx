// What Ctrl-K opens: every screen by name, and any object by ID.
import "../styles/rest";
import "@mantine/spotlight/styles.css";
import { Spotlight, spotlight } from "@mantine/spotlight";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { useMe } from "../api/queries";
import { PLACES } from "./places";

export const open = spotlight.open;

/** It was asked for before it came, so it opens at once. */
export default function Finder() {
  useEffect(open, []);
  const navigate = useNavigate();
  const { operator } = useMe().user;
  const actions = PLACES.map(({ group, places }) => ({
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
  return (
    <Spotlight
      actions={actions}
      shortcut={null}
      attributes={{ content: { "aria-label": "Go to" } }}
      nothingFound="No matches."
      searchProps={{
        placeholder: "Go to a page, or paste an ID such as evt_…",
        leftSection: <IconSearch size={18} />,
        "aria-label": "Page or ID",
      }}
      onQueryChange={(text) => {
        const href = placeOf(text.trim());
        if (href === undefined) return;
        spotlight.close();
        navigate({ href });
      }}
    />
  );
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
