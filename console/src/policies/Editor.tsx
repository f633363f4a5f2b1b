// A field for code: with colors and marked mistakes where it has a language, plain for a few lines of JSON. Either has a Tab
// key that can be escaped.
import { Input, Loader, Text } from "@mantine/core";
import { type KeyboardEvent, lazy, Suspense, useId, useRef } from "react";
import type { Language } from "./cedar";
import classes from "./Editor.module.css";
import { isError, type LineMark } from "./marks";

/** Much code, which only those who look at policies need. */
const Code = lazy(() => import("./Code"));

interface EditorProps {
  label: string;
  language?: Language;
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
  const { label, language, value, onChange, marks = NO_MARKS, rows = 16, description, error } = props;
  const id = useId();
  const describedBy = onChange && `${id}-keys`;
  const field = { id, value, onChange, describedBy };
  return (
    <Input.Wrapper label={label} description={description} error={error} id={id} inputWrapperOrder={ORDER}>
      <div
        className={classes.frame}
        style={{ height: `${rows * 1.5 + 1}em` }}
        data-invalid={marks.some(isError)}
      >
        {language === undefined ? (
          <Plain {...field} />
        ) : (
          <Suspense fallback={<Loader size="xs" m="sm" />}>
            <Code {...field} label={label} language={language} marks={marks} />
          </Suspense>
        )}
      </div>
      {onChange && (
        <Text id={`${id}-keys`} size="xs" className="quiet" mt={4}>
          Tab indents. Press Esc, then Tab, to leave the editor.
        </Text>
      )}
    </Input.Wrapper>
  );
}

interface PlainProps {
  id: string;
  value: string;
  onChange: ((value: string) => void) | undefined;
  describedBy: string | undefined;
}

function Plain({ id, value, onChange, describedBy }: PlainProps) {
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
    <textarea
      id={id}
      className={classes.text}
      value={value}
      readOnly={onChange === undefined}
      spellCheck={false}
      autoCapitalize="off"
      autoComplete="off"
      wrap="off"
      aria-describedby={describedBy}
      onChange={(event) => onChange?.(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={() => {
        isLeaving.current = false;
      }}
    />
  );
}

const ORDER: ("label" | "input" | "description" | "error")[] = ["label", "description", "input", "error"];
