// Searches for text in events once the user stops typing.
import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { type RefObject, useEffect, useState } from "react";

const TYPED_MS = 400;

interface SearchBoxProps {
  text: string;
  onChange: (text: string) => void;
  input: RefObject<HTMLInputElement | null>;
}

export function SearchBox({ text, onChange, input }: SearchBoxProps) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onChange(typed), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, text, onChange]);
  return (
    <TextInput
      ref={input}
      size="xs"
      type="search"
      aria-label="Search events"
      placeholder="Search event text, such as an invoice number ( / )"
      leftSection={<IconSearch size={14} />}
      style={{ flex: "1 1 220px" }}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onChange(typed);
        if (event.key === "Escape") input.current?.blur();
      }}
    />
  );
}
