// A link to another screen, with that screen's parameters.
import { Anchor, type AnchorProps } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Search } from "../search";

interface ToProps extends AnchorProps {
  path: string;
  /** The parameters of its address. */
  with?: Search;
  children: ReactNode;
}

export function To({ path, with: search, children, ...look }: ToProps) {
  return (
    // The router does not know by its types what the screens' addresses take.
    <Anchor component={Link} to={path} search={(search ?? {}) as never} inherit {...look}>
      {children}
    </Anchor>
  );
}
