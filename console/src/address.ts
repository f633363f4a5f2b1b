// The address bar as a screen's state: reading and changing it.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { all, type Search } from "./search";

/** What to change; what is undefined or empty is taken out of the address. */
export type Change = Record<string, string | string[] | undefined>;
/** `replace` for what Back should not step through, such as each letter of a search. */
type ChangeAddress = (change: Change, how?: { replace?: boolean }) => void;

export function useAddress(): [Search, ChangeAddress] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = useCallback<ChangeAddress>(
    (change, how) => {
      const changed = (before: Search) => kept({ ...before, ...change });
      navigate({ to: ".", search: changed as never, replace: how?.replace ?? false, resetScroll: false });
    },
    [navigate],
  );
  return [search, change];
}

function kept(search: Change): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => all(value).length > 0)) as Search;
}
