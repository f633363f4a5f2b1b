// Shows each fault that the server finds in a rule next to the field it is about.
import { Text } from "@mantine/core";
import { createContext, useContext } from "react";
import { Problem } from "../api/problem";

interface Fault {
  pointer: string;
  detail: string;
}

/** All faults of the rule that is shown. */
export const Faults = createContext<Fault[]>([]);

/** The faults that an answer names. Those of a rule inside a question are said as if the rule were asked alone. */
export function faultsOf(error: unknown): Fault[] {
  if (!(error instanceof Problem)) return [];
  return (error.faults ?? []).map(({ pointer, detail }) => ({
    pointer: (pointer ?? "").replace(/^\/rule(?=\/)/, ""),
    detail,
  }));
}

export function pointerOf(...names: (string | number)[]): string {
  return names.map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** What is wrong at a place or inside it, in one text for a field of the form. */
export function useFault(pointer: string): string | undefined {
  const inside = useContext(Faults).filter(
    (fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`),
  );
  return inside.length === 0 ? undefined : inside.map((fault) => fault.detail).join(" ");
}

/** The same for what is no single field. */
export function FaultsAt({ pointer }: { pointer: string }) {
  const fault = useFault(pointer);
  if (fault === undefined) return null;
  return (
    <Text size="xs" c="var(--mantine-color-error)" role="alert">
      {fault}
    </Text>
  );
}
