// Policies to read, with the lines of one of them marked.
import { Box, Text } from "@mantine/core";
import { useLayoutEffect, useRef } from "react";
import { To } from "../parts/To";
import { type Clause, clauseOf, linesOf } from "./clauses";
import classes from "./MarkedText.module.css";

/** What of a long policy is shown where it is only cited. */
const CITED_LINES_MAX = 12;

/** The whole text, at the policy. */
export function MarkedText({ text, policy }: { text: string; policy: string }) {
  const frame = useRef<HTMLPreElement>(null);
  const clause = clauseOf(text, policy);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another policy is a reason to go there.
  useLayoutEffect(() => {
    const first = frame.current?.querySelector("mark");
    if (first && frame.current) frame.current.scrollTop = first.offsetTop - frame.current.clientHeight / 4;
  }, [text, policy]);
  return (
    <>
      <Text size="sm" mb={6}>
        {clause ? (
          <>
            Highlighted: <b>{policy}</b>, {linesOf(clause)}.
          </>
        ) : (
          <>
            This version has no policy <b>{policy}</b>.
          </>
        )}{" "}
        <To path="." with={{}} underline="always">
          Remove highlight
        </To>
      </Text>
      <Lines
        text={text}
        clause={clause}
        from={1}
        label="Policies, in Cedar"
        ref={frame}
        className={classes.whole}
      />
    </>
  );
}

/** Only the policy; none if the text does not have it. */
export function CitedClause({ text, clause, policy }: { text: string; clause: Clause; policy: string }) {
  const { line, endLine } = clause;
  const lines = text.split("\n").slice(line - 1, endLine);
  const left = lines.length - CITED_LINES_MAX;
  return (
    <>
      <Lines
        text={lines.slice(0, CITED_LINES_MAX).join("\n")}
        clause={clause}
        from={line}
        label={`Policy ${policy}`}
      />
      {left > 0 && (
        <Text size="xs" className="quiet">
          and {left} more {left === 1 ? "line" : "lines"}
        </Text>
      )}
    </>
  );
}

interface LinesProps {
  text: string;
  clause: Clause | undefined;
  /** The number of the first line. */
  from: number;
  label: string;
  className?: string;
  ref?: React.Ref<HTMLPreElement>;
}

function Lines({ text, clause, from, label, className, ref }: LinesProps) {
  const lines = text.split("\n");
  return (
    <Box
      component="pre"
      ref={ref}
      className={`${classes.text} ${className ?? ""}`}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      {lines.map((line, at) => {
        const number = from + at;
        const isMarked = clause !== undefined && number >= clause.line && number <= clause.endLine;
        const Line = isMarked ? "mark" : "span";
        return (
          <Line key={number} className={classes.line} data-line={number}>
            {line}
            {"\n"}
          </Line>
        );
      })}
    </Box>
  );
}
