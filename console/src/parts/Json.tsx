// JSON as a tree; plain values can offer to be filtered by.
import { ActionIcon, Box, Group, Tooltip } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import classes from "./Json.module.css";

/** Asked for each plain value: what filtering by it does, or nothing if the list has no such filter. */
export type FilterBy = (path: string[], value: string) => (() => void) | undefined;

interface JsonProps {
  value: unknown;
  filterBy?: FilterBy;
}

export function Json({ value, filterBy }: JsonProps) {
  return (
    <Box className={classes.tree} role="group" aria-label="JSON">
      <Node value={value} path={[]} filterBy={filterBy} last />
    </Box>
  );
}

interface NodeProps extends JsonProps {
  /** What an object calls it; the items of an array have no name. */
  name?: string;
  /** The names down to it, without the places in arrays. */
  path: string[];
  last: boolean;
}

function Node({ value, name, path, filterBy, last }: NodeProps) {
  const key = name === undefined ? null : <span className={classes.key}>{JSON.stringify(name)}: </span>;
  const comma = last ? "" : ",";
  if (typeof value !== "object" || value === null) {
    const filter = filterBy?.(path, String(value));
    return (
      <Group className={classes.line} gap={4} wrap="nowrap" align="flex-start">
        <span>
          {key}
          <span className={classes[typeof value] ?? classes.object}>{JSON.stringify(value)}</span>
          {comma}
        </span>
        {filter && (
          <Tooltip label="Filter by this value">
            <ActionIcon
              size="xs"
              variant="subtle"
              onClick={filter}
              aria-label={`Filter by ${path.join(".")} ${String(value)}`}
            >
              <IconFilter size={12} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    );
  }
  return <Branch {...{ value, path, filterBy, last }} label={key} />;
}

interface BranchProps extends Omit<NodeProps, "name"> {
  value: object;
  label: ReactNode;
}

function Branch({ value, label, path, filterBy, last }: BranchProps) {
  const [open, setOpen] = useState(true);
  const isArray = Array.isArray(value);
  const entries = Object.entries(value);
  const [left, right] = isArray ? ["[", "]"] : ["{", "}"];
  const end = last ? right : `${right},`;
  if (entries.length === 0) {
    return (
      <div className={classes.line}>
        {label}
        {left}
        {end}
      </div>
    );
  }
  return (
    <div>
      <button type="button" className={classes.fold} aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
        {left}
        {!open && ` … ${end}`}
      </button>
      {open && (
        <>
          <div className={classes.inside}>
            {entries.map(([name, child], at) => (
              <Node
                key={name}
                value={child}
                name={isArray ? undefined : name}
                path={isArray ? path : [...path, name]}
                filterBy={filterBy}
                last={at === entries.length - 1}
              />
            ))}
          </div>
          <div className={classes.line}>{end}</div>
        </>
      )}
    </div>
  );
}
