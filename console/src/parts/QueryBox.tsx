// A box for a query: offers how it could go on, underlines what is wrong, and asks it on Enter or when it is left.
import { Button, Combobox, Group, Text, TextInput, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { queries } from "../api/queries";
import classes from "./QueryBox.module.css";
import { checked, placesIn, type QueryFault, type QueryList, withOffer, written } from "./query";

const TYPED_MS = 200;
/** What fits below the box without scrolling. */
const OFFERS_MAX = 12;

interface QueryBoxProps {
  list: QueryList;
  text: string;
  onChange: (text: string) => void;
  label: string;
  placeholder: string;
  /** Values that the data has, by field, which the server does not look up. */
  known?: Record<string, string[]>;
  input?: RefObject<HTMLInputElement | null>;
}

export function QueryBox({ list, text, onChange, label, placeholder, known = {}, input }: QueryBoxProps) {
  const own = useRef<HTMLInputElement>(null);
  const field = input ?? own;
  const [typed, setTyped] = useState(text);
  const [cursor, setCursor] = useState(text.length);
  const [scroll, setScroll] = useState(0);
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  // What was asked from here is in the box already, and somebody may have typed on.
  const sent = useRef(text);
  useEffect(() => {
    if (text !== sent.current) setTyped(text);
    sent.current = text;
  }, [text]);

  const [settled] = useDebouncedValue({ typed, cursor }, TYPED_MS);
  const check = useQuery({
    ...checked(list, settled.typed, settled.cursor),
    enabled: settled.typed !== "" || combobox.dropdownOpened,
    placeholderData: keepPreviousData,
  });
  const isCurrent = settled.typed === typed && !check.isPlaceholderData;
  const fault = isCurrent && typed !== "" ? (check.data?.error ?? undefined) : undefined;
  const completion = isCurrent ? check.data?.completion : undefined;
  const place = completion ? placesIn(typed, completion) : undefined;
  const start = place ? typed.slice(...place) : "";
  const values = (known[completion?.values_of ?? ""] ?? []).filter((value) => value.startsWith(start));
  const offers = [
    ...(completion?.offers ?? []),
    ...values.map((value) => ({ text: written(value), about: "" })),
  ]
    .filter((offer) => offer.text !== start)
    .slice(0, OFFERS_MAX);

  const moved = useRef<number>(undefined);
  const write = (next: string, at: number) => {
    moved.current = at;
    setTyped(next);
    setCursor(at);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the cursor moves once the text is there.
  useLayoutEffect(() => {
    if (moved.current !== undefined) field.current?.setSelectionRange(moved.current, moved.current);
    moved.current = undefined;
  }, [typed, field]);
  const turn = useRef(0);
  const ask = async (wanted: string) => {
    turn.current += 1;
    const mine = turn.current;
    if (wanted.trim() === text) return;
    // If nobody can say whether it is right, the list will: it is asked all the same.
    const said = await queries.fetchQuery(checked(list, wanted)).catch(() => undefined);
    if (mine !== turn.current || said?.error) return;
    sent.current = wanted.trim();
    onChange(sent.current);
  };
  return (
    <div className={classes.box}>
      <Combobox
        store={combobox}
        keepMounted={false}
        position="bottom-start"
        onOptionSubmit={(offer) => place && write(...withOffer(typed, place, offer))}
      >
        <Combobox.Target>
          <TextInput
            ref={field}
            size="xs"
            type="search"
            autoComplete="off"
            spellCheck={false}
            aria-label={label}
            placeholder={placeholder}
            leftSection={<IconSearch size={14} />}
            value={typed}
            error={fault ? <Fault fault={fault} text={typed} onWrite={write} /> : undefined}
            onChange={(event) => {
              setTyped(event.currentTarget.value);
              setCursor(event.currentTarget.selectionStart ?? event.currentTarget.value.length);
              combobox.openDropdown();
              // Cleared by its cross, which is a choice and not half a word.
              if (event.currentTarget.value === "") ask("");
            }}
            onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? 0)}
            onScroll={(event) => setScroll(event.currentTarget.scrollLeft)}
            onClick={() => combobox.openDropdown()}
            onBlur={() => {
              combobox.closeDropdown();
              ask(typed);
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && combobox.getSelectedOptionIndex() === -1) {
                combobox.closeDropdown();
                ask(typed);
              }
              if (event.key === "Escape") {
                // The browser would empty a search box.
                event.preventDefault();
                if (combobox.dropdownOpened && offers.length > 0) event.stopPropagation();
                else field.current?.blur();
              }
            }}
          />
        </Combobox.Target>
        <Combobox.Dropdown hidden={offers.length === 0}>
          <Combobox.Options aria-label="Suggestions">
            {offers.map((offer) => (
              <Combobox.Option key={offer.text} value={offer.text}>
                <span className="mono">{offer.text}</span>
                <Text span size="xs" className={`quiet ${classes.about}`}>
                  {offer.about}
                </Text>
              </Combobox.Option>
            ))}
          </Combobox.Options>
        </Combobox.Dropdown>
      </Combobox>
      {fault && <Underline fault={fault} text={typed} scroll={scroll} />}
    </div>
  );
}

function Underline({ fault, text, scroll }: { fault: QueryFault; text: string; scroll: number }) {
  const [start, end] = placesIn(text, fault);
  return (
    <div className={classes.under} aria-hidden>
      <div style={{ transform: `translateX(${-scroll}px)` }}>
        {text.slice(0, start)}
        {/* Where something is missing, a blank is underlined. */}
        <span className={classes.wrong}>{text.slice(start, end) || "\u00a0"}</span>
      </div>
    </div>
  );
}

interface FaultProps {
  fault: QueryFault;
  text: string;
  onWrite: (text: string, cursor: number) => void;
}

function Fault({ fault, text, onWrite }: FaultProps) {
  const { instead } = fault;
  const [start, end] = placesIn(text, fault);
  const correct = (word: string) =>
    onWrite(text.slice(0, start) + word + text.slice(end), start + word.length);
  return (
    <Group component="span" gap={6} role="status">
      {fault.detail}
      {typeof instead === "string" && (
        // The box keeps the focus, which it would lose to the button before the click.
        <Button
          size="compact-xs"
          variant="light"
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => correct(instead)}
        >
          {instead === "" ? "Remove" : `Use “${instead}”`}
        </Button>
      )}
    </Group>
  );
}
