// The code editor itself, which comes when a screen first needs it: colors, line numbers and marked mistakes.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { type Language, parserOf } from "./cedar";
import classes from "./Editor.module.css";
import { isError, type LineMark, spanOf } from "./marks";

interface CodeProps {
  id: string;
  label: string;
  language: Language;
  value: string;
  onChange?: ((value: string) => void) | undefined;
  marks: LineMark[];
  describedBy: string | undefined;
}

export default function Code({ id, label, language, value, onChange, marks, describedBy }: CodeProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latest = useRef({ value, marks, onChange });
  latest.current = { value, marks, onChange };
  const isReadOnly = onChange === undefined;
  // What was typed comes back as the value, maybe when more has been typed already.
  const typed = useRef<string[]>([]);
  useEffect(() => {
    const made = new EditorView({
      parent: place.current ?? undefined,
      doc: latest.current.value,
      extensions: [
        EditorView.cspNonce.of(nonce()),
        EditorView.contentAttributes.of({
          id,
          "aria-label": label,
          // What scrolls has to be reached by keys, also where nothing can be typed.
          tabindex: "0",
          spellcheck: "false",
          ...(describedBy && { "aria-describedby": describedBy }),
          ...(isReadOnly && { "aria-readonly": "true" }),
        }),
        EditorState.readOnly.of(isReadOnly),
        lineNumbers(),
        history(),
        bracketMatching(),
        EditorView.lineWrapping,
        StreamLanguage.define(parserOf(language)),
        syntaxHighlighting(COLORS),
        marked,
        leaving,
        typedOver,
        keymap.of([{ key: "Tab", run: indent, shift: indentLess }, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          const text = update.state.doc.toString();
          typed.current = text === latest.current.value ? [] : [...typed.current, text];
          latest.current.onChange?.(text);
        }),
      ],
    });
    made.dispatch({ effects: setMarks.of(latest.current.marks) });
    view.current = made;
    return () => made.destroy();
  }, [id, label, language, describedBy, isReadOnly]);
  useEffect(() => {
    const { current } = view;
    const at = typed.current.lastIndexOf(value);
    typed.current = typed.current.slice(at + 1);
    if (current === null || at >= 0 || current.state.doc.toString() === value) return;
    // A template was added, or it was begun anew.
    typed.current = [];
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => view.current?.dispatch({ effects: setMarks.of(marks) }), [marks]);
  return <div ref={place} className={classes.code} />;
}

function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}

/** Two spaces where nothing is selected, as the plain editor does. */
function indent(view: EditorView): boolean {
  if (view.state.readOnly) return false;
  if (!view.state.selection.main.empty) return indentMore(view);
  view.dispatch(view.state.replaceSelection("  "), { scrollIntoView: true, userEvent: "input" });
  return true;
}

/**
 * What is typed over a selection. The browser would keep the color of what was there in a style of its own, which the
 * page's policy forbids; so the text is replaced here.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { readOnly, selection } = view.state;
    if (event.inputType !== "insertText" || event.data === null || readOnly || selection.main.empty)
      return false;
    event.preventDefault();
    const { changes, selection: after } = view.state.replaceSelection(event.data);
    view.dispatch({ changes, selection: after, scrollIntoView: true, userEvent: "input.type" });
    return true;
  },
});

/** After Escape the Tab key leaves the field, as it does elsewhere. */
const leaving = EditorView.domEventHandlers({
  keydown(event, view) {
    if (event.key === "Escape") {
      view.setTabFocusMode(true);
      // The dialog around it stays open: who wants to leave the field does not want to leave everything.
      event.stopPropagation();
    } else if (event.key !== "Tab" && event.key !== "Shift") view.setTabFocusMode(false);
    return false;
  },
  blur(_, view) {
    view.setTabFocusMode(false);
  },
});

const setMarks = StateEffect.define<LineMark[]>();

/** The lines that are marked, and the words in them where it is known which. */
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, transaction) {
    const set = transaction.effects.find((effect) => effect.is(setMarks));
    return set
      ? decorations(transaction.state.doc, set.value as LineMark[])
      : before.map(transaction.changes);
  },
  provide: (field) => [
    EditorView.decorations.from(field),
    EditorView.contentAttributes.of((view) => ({
      "aria-invalid": String(hasError(view.state.field(field))),
    })),
  ],
});

function hasError(set: DecorationSet): boolean {
  for (let at = set.iter(); at.value !== null; at.next())
    if (at.value.spec.attributes?.["data-mark"] === "error") return true;
  return false;
}

function decorations(doc: Text, marks: LineMark[]): DecorationSet {
  const inText = marks.filter(({ line }) => line >= 1 && line <= doc.lines);
  const all = inText.flatMap((mark) => {
    const { from, text } = doc.line(mark.line);
    const attributes = { "data-mark": mark.kind, title: mark.text };
    const line = Decoration.line({ attributes, class: classes.markedLine }).range(from);
    const span = spanOf(text, mark.column);
    if (span === undefined) return [line];
    const name = isError(mark) ? classes.wrong : classes.doubtful;
    return [
      line,
      Decoration.mark({ class: name, attributes: { title: mark.text } }).range(
        from + span[0],
        from + span[1],
      ),
    ];
  });
  return Decoration.set(all, true);
}

/** The colors themselves are in the style sheet, which knows light and dark. */
const COLORS = HighlightStyle.define([
  { tag: tags.keyword, class: classes.keyword },
  { tag: tags.atom, class: classes.atom },
  { tag: tags.string, class: classes.string },
  { tag: tags.number, class: classes.digits },
  { tag: tags.comment, class: classes.comment },
  { tag: tags.meta, class: classes.annotation },
  { tag: [tags.typeName, tags.propertyName], class: classes.type },
]);
