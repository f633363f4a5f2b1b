// One event in the list. Plain markup, because hundreds pass by while scrolling.
import { memo } from "react";
import { Mark } from "../parts/Mark";
import { Head, TimeTitle } from "../parts/Rows";
import { When } from "../parts/When";
import { Agent } from "./Agent";
import classes from "./Events.module.css";
import type { Row } from "./row";

/** What can be shown of an event in the list, beside its time. */
export const COLUMNS = ["result", "severity", "type", "agent", "action", "resource"] as const;
export type Column = (typeof COLUMNS)[number];

const TITLES: Record<Column, string> = {
  result: "Result",
  severity: "Severity",
  type: "Type",
  agent: "Agent",
  action: "Action",
  resource: "Resource",
};

interface EventRowProps {
  row: Row;
  columns: readonly Column[];
  /** Two lines instead of many columns. */
  isNarrow: boolean;
}

export const EventRow = memo(function EventRow({ row, columns, isNarrow }: EventRowProps) {
  if (isNarrow) return <Stacked row={row} />;
  return (
    <span className={classes.cells}>
      <span className={classes.time} data-label="Time">
        <When at={row.occurred_at} exact />
      </span>
      {columns.map((column) => {
        const shown = cell(row, column);
        return (
          <span
            key={column}
            className={`${classes[column]} truncate`}
            data-label={shown ? TITLES[column] : undefined}
          >
            {shown}
          </span>
        );
      })}
    </span>
  );
});

function cell(row: Row, column: Column) {
  switch (column) {
    case "result":
      return <Mark word={row.result} />;
    case "severity":
      return row.severity ? <Mark word={row.severity} /> : null;
    case "type":
      return row.event_type;
    case "agent":
      return <Agent event={row} />;
    case "action":
      return row.action;
    case "resource":
      return row.resource;
  }
}

function Stacked({ row }: { row: Row }) {
  return (
    <span className={classes.stacked}>
      <strong className="truncate">{row.action}</strong>
      <Mark word={row.result} />
      <span className="quiet truncate">
        <When at={row.occurred_at} exact /> · <Agent event={row} />
      </span>
    </span>
  );
}

/** What the columns are. */
export function EventHead({ columns }: { columns: readonly Column[] }) {
  return (
    <Head>
      <span className={classes.time}>
        <TimeTitle />
      </span>
      {columns.map((column) => (
        <span key={column} className={`${classes[column]} truncate`}>
          {TITLES[column]}
        </span>
      ))}
    </Head>
  );
}
