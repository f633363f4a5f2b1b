// Shows each fault that the server finds in a rule next to the field it is about.
import { Text } from "@mantine/core";
import { createContext, useContext } from "react";
import { Problem } from "../api/problem";
import type { Draft } from "./draft";

export interface Fault {
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
    detail: inWords(detail),
  }));
}

/** What the server says to programs, said to who looks at the field: `url` is the one they look at. */
export function inWords(detail: string): string {
  return detail.replace(/^`[a-z_.]+` must/, "This must").replaceAll("`", "");
}

/** What the form itself knows to be missing, before anybody asks the server. */
export function missingIn(draft: Draft): Fault[] {
  const { name, url } = draft;
  const faults: Fault[] = [];
  if (typeof name !== "string" || name.trim() === "")
    faults.push({ pointer: "/name", detail: "Enter a name." });
  if (typeof url !== "string" || url.trim() === "")
    faults.push({ pointer: "/url", detail: "Enter the URL to send alerts to." });
  else if (!URL.canParse(url) || !/^https?:/i.test(url))
    faults.push({ pointer: "/url", detail: "Enter a URL that starts with https://." });
  return faults;
}

/** The fields of the form; what is wrong with them is said there and nowhere else. */
const FIELDS = [
  "name",
  "url",
  "severity",
  "tags",
  "match",
  "except",
  "threshold",
  "suppress",
  "snoozed_until",
  "description",
  "runbook_url",
  "tests",
];

/** Whether the form says all that is wrong. */
export function isSaidInForm(error: unknown): boolean {
  const faults = faultsOf(error);
  return faults.length > 0 && faults.every(({ pointer }) => FIELDS.includes(pointer.split("/")[1] ?? ""));
}

/** Leads to the first field that is wrong, once the form shows which. */
export function goToFault(): void {
  setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), 0);
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
