// One link of a chain: what it is, one line of fact, and what can be seen of it here.
import { Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { messageOf } from "../api/problem";
import classes from "./Chain.module.css";

interface ChainLinkProps {
  name: string;
  /** There is none, and the line says so. */
  isMissing?: boolean;
  /** Why the line cannot be told. */
  error?: unknown;
  /** The line; not given while it is on its way. */
  children?: ReactNode;
}

export function ChainLink({ name, isMissing, error, children }: ChainLinkProps) {
  return (
    <li className={classes.link} data-link={name} data-missing={isMissing || undefined}>
      <Text size="xs" className="quiet" fw={600}>
        {name}
      </Text>
      <div className={isMissing ? `${classes.fact} quiet` : classes.fact}>
        {error ? (
          <Text size="sm" role="alert">
            {messageOf(error)}
          </Text>
        ) : (
          (children ?? <Skeleton height={14} width="70%" my={4} role="status" aria-label="Loading" />)
        )}
      </div>
    </li>
  );
}
