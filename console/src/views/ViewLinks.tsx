// The views of a list, in the menu beneath its screen.
import { NavLink } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { one, type Search } from "../search";
import { addressOf, useViews } from "./views";

/** How many are shown at once, beside the one that is open: the screens below must stay in sight. */
const SHOWN_MAX = 5;

/** `at` is the address of the screen, which is called like what it lists. */
export function ViewLinks({ at }: { at: string }) {
  const views = useViews().filter(({ list }) => at === `/${list}`);
  const open = useOpenView();
  const [isAll, setAll] = useState(false);
  const shown = views.filter(({ id }, place) => isAll || place < SHOWN_MAX || id === open);
  const others = views.length - shown.length;
  return (
    <>
      {shown.map((view) => (
        <NavLink
          key={view.id}
          component={Link}
          to={at}
          // The router does not know by its types what the screens' addresses take.
          search={addressOf(view) as never}
          label={view.name}
          title={view.shared ? `${view.name} (shared)` : view.name}
          noWrap
          rightSection={view.shared && <IconUsers size={14} stroke={1.6} aria-hidden />}
          active={view.id === open}
          aria-current={view.id === open ? "page" : undefined}
          pl={42}
          py={3}
        />
      ))}
      {others > 0 && (
        <NavLink
          component="button"
          type="button"
          label={`Show ${others} more ${others === 1 ? "view" : "views"}`}
          onClick={(event) => {
            // The menu stays open on a phone, where it closes with what is chosen in it.
            event.stopPropagation();
            setAll(true);
          }}
          pl={42}
          py={3}
        />
      )}
    </>
  );
}

/** The id of the view that the screen shows, if it is one. */
export function useOpenView(): string | undefined {
  const { pathname, search } = useLocation();
  const asked = one((search as Search).view);
  return useViews().find(({ id, list }) => id === asked && pathname === `/${list}`)?.id;
}
