// A line-by-line diff of two texts, marked by signs as well as colors.
import { Box, Text } from "@mantine/core";
import { useMemo } from "react";
import classes from "./Diff.module.css";
import { hunks, lines } from "./diff";

interface DiffProps {
  /** What is compared, for those who do not see it, such as `Version 3 and version 4`. */
  label: string;
  before: string;
  after: string;
  /** How many unchanged lines are shown around a change; `Infinity` shows all. */
  around?: number;
}

const SIGNS = { same: " ", added: "+", removed: "−" };

export function Diff({ label, before, after, around = 3 }: DiffProps) {
  const shown = useMemo(() => hunks(lines(before, after), around), [before, after, around]);
  const isSame = shown.every((line) => line.kind === "left-out" || line.kind === "same");
  if (isSame) {
    return (
      <Text size="sm" className="quiet">
        No differences.
      </Text>
    );
  }
  return (
    <Box className={classes.frame} tabIndex={0} role="region" aria-label={label}>
      <div className={classes.lines}>
        {shown.map((line) =>
          line.kind === "left-out" ? (
            <div key={`left-out ${line.before}`} className={classes.left}>
              {line.count === 1 ? "1 unchanged line" : `${line.count} unchanged lines`}
            </div>
          ) : (
            <div key={`${line.before}:${line.after}`} className={`${classes.line} ${classes[line.kind]}`}>
              <span className={classes.number}>{line.before}</span>
              <span className={classes.number}>{line.after}</span>
              <span className={classes.sign}>{SIGNS[line.kind]}</span>
              <span className={classes.text}>{line.text}</span>
            </div>
          ),
        )}
      </div>
    </Box>
  );
}
