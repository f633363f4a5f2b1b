// A plain code editor: line numbers, marked lines, and a Tab key that can be escaped.
import { Input, Text } from "@mantine/core";
import { type KeyboardEvent, useId, useMemo, useRef } from "react";
import classes from "./Editor.module.css";

export interface LineMark {
  /** From 1. */
  line: number;
  kind: "error" | "warning";
  text: string;
}

interface EditorProps {
  label: string;
  value: string;
  onChange?: (value: string) => void;
  marks?: LineMark[];
  /** How many lines are seen at once. */
  rows?: number;
  description?: string;
  error?: string;
}

const NO_MARKS: LineMark[] = [];

export function Editor(props: EditorProps) {
  const { label, value, onChange, marks = NO_MARKS, rows = 16, description, error } = props;
  const id = useId();
  const gutter = useRef<HTMLDivElement>(null);
  // After Escape the Tab key leaves the field, as it does elsewhere.
  const isLeaving = useRef(false);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === "Escape") {
      isLeaving.current = true;
      // The dialog around it stays open: who wants to leave the field does not want to leave everything.
      event.stopPropagation();
    } else if (event.key === "Tab" && !event.shiftKey && !isLeaving.current && onChange) {
      event.preventDefault();
      const field = event.currentTarget;
      field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end");
      onChange(field.value);
    } else if (event.key !== "Tab" && event.key !== "Shift") {
      isLeaving.current = false;
    }
  };
  return (
    <Input.Wrapper label={label} description={description} error={error} id={id} inputWrapperOrder={ORDER}>
      <div
        className={classes.frame}
        style={{ height: `${rows * 1.5 + 1}em` }}
        data-invalid={marks.some(isError)}
      >
        <Gutter lines={useMemo(() => value.split("\n").length, [value])} marks={marks} ref={gutter} />
        <textarea
          id={id}
          className={classes.text}
          value={value}
          readOnly={onChange === undefined}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          wrap="off"
          aria-invalid={marks.some(isError)}
          aria-describedby={onChange && `${id}-keys`}
          onChange={(event) => onChange?.(event.currentTarget.value)}
          onScroll={(event) => gutter.current?.scrollTo({ top: event.currentTarget.scrollTop })}
          onKeyDown={onKeyDown}
          onBlur={() => {
            isLeaving.current = false;
          }}
        />
      </div>
      {onChange && (
        <Text id={`${id}-keys`} size="xs" className="quiet" mt={4}>
          Tab indents. Press Esc, then Tab, to leave the editor.
        </Text>
      )}
    </Input.Wrapper>
  );
}

const ORDER: ("label" | "input" | "description" | "error")[] = ["label", "description", "input", "error"];

function isError(mark: LineMark): boolean {
  return mark.kind === "error";
}

interface GutterProps {
  lines: number;
  marks: LineMark[];
  ref: React.Ref<HTMLDivElement>;
}

/** The numbers beside the lines. A mark has a sign beside its color; its text is also listed below the field. */
function Gutter({ lines, marks, ref }: GutterProps) {
  const byLine = new Map<number, LineMark>();
  for (const mark of marks) if (!byLine.has(mark.line) || isError(mark)) byLine.set(mark.line, mark);
  return (
    <div className={classes.gutter} ref={ref} aria-hidden>
      {Array.from({ length: lines }, (_, at) => {
        const mark = byLine.get(at + 1);
        const sign = mark === undefined ? "" : isError(mark) ? "✕ " : "! ";
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place.
          <div key={at} className={classes.number} data-mark={mark?.kind} title={mark?.text}>
            {sign}
            {at + 1}
          </div>
        );
      })}
    </div>
  );
}
