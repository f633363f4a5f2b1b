// Queries as people write them: checked and completed by the server, which has the only parser.
import { queryOptions } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";

export type QueryList = Body<"QueryWritten">["list"];
export type QueryFault = Body<"QueryFault">;

/** What the server says about a text, and what could stand at the cursor. */
export function checked(list: QueryList, text: string, cursor?: number) {
  return queryOptions({
    queryKey: ["query", list, text, cursor],
    queryFn: ({ signal }) => {
      const body = { list, text, cursor: cursor === undefined ? undefined : lettersBefore(text, cursor) };
      return answer(api.POST("/v1/queries/check", { body, signal }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
}

/** The server counts letters; a browser counts some of them, such as emoji, twice. */
function lettersBefore(text: string, place: number): number {
  return Array.from(text.slice(0, place)).length;
}

/** The part of a text between two places that the server counted. */
export function placesIn(text: string, { start, end }: { start: number; end: number }): [number, number] {
  const letters = Array.from(text);
  const length = (upTo: number) => letters.slice(0, upTo).join("").length;
  return [length(start), length(end)];
}

/** A value as it is written in a query. */
export function written(value: string): string {
  const isPlain = /^[\p{L}\p{N}_./@+:-]+$/u.test(value) && !/^[-.]|\.\./.test(value);
  return isPlain ? value : quoted(value);
}

export function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** The text with an offer in place of what was typed toward it, and where the cursor goes. */
export function withOffer(text: string, [start, end]: [number, number], offer: string): [string, number] {
  const before = text.slice(0, start);
  const isInList = before.lastIndexOf("(") > before.lastIndexOf(")");
  const isWhole = !/[:.<>=]$/.test(offer) && !isInList && !/^\s/.test(text.slice(end));
  const next = before + offer + (isWhole ? " " : "");
  return [next + text.slice(end), next.length];
}

/** What many filters say together, as one query. */
export function joined(fields: [name: string, values: string[]][], ...texts: (string | undefined)[]): string {
  const terms = fields
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => {
      const list = values.map((value) => (/\*$/.test(value) && name === "action" ? value : written(value)));
      return `${name}:${list.length === 1 ? list[0] : `(${list.join(",")})`}`;
    });
  return [...terms, ...texts.filter((text) => text !== undefined && text !== "")].join(" ");
}
