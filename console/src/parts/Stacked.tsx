// A table that becomes a stack of labeled rows on narrow screens.
import { Table, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Stacked.module.css";

interface StackedProps {
  /** What is listed, for those who do not see it. */
  label: string;
  /** What the columns are called. The one with a row's buttons has an empty name and says what it is only aloud. */
  head: string[];
  /** Rows, whose cells carry their column as `data-label`. */
  children: ReactNode;
}

export function Stacked({ label, head, children }: StackedProps) {
  return (
    <Table className={classes.table} aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          {head.map((name) => (
            <Table.Th key={name}>{name || <VisuallyHidden>Actions</VisuallyHidden>}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  );
}
