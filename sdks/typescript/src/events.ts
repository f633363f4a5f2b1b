// Sending audit events, and reading them back.
import { persist } from "./again.js";
import type { Connection, Schemas } from "./connection.js";
import { isObject, oddAnswer, unwrap } from "./error.js";
import type { paths } from "./schema.js";

/** An audit event to be recorded. */
export type NewEvent = Schemas["NewEvent"];
/** An audit event as it was recorded. */
export type Event = Schemas["Event"];
/** What became of a batch. */
export type Ingested = Schemas["Ingested"];

export interface SendOptions {
  /** Names the request, so that sending it again is harmless. One is made up unless given. */
  idempotencyKey?: string;
  /** One bad event refuses all of them. */
  atomic?: boolean;
  signal?: AbortSignal;
}

/** Sends up to 1,000 events, again if there is no answer. When it returns, the accepted ones are durable. */
export function sendEvents(
  connection: Connection,
  events: NewEvent | readonly NewEvent[],
  { idempotencyKey = crypto.randomUUID(), atomic, signal }: SendOptions = {},
): Promise<Ingested> {
  const body = JSON.stringify({ events: Array.isArray(events) ? events : [events] });
  return persist(() => post(connection, body, { idempotencyKey, atomic, signal }), signal);
}

/** Sends a body once. */
export async function post(
  { api, within }: Connection,
  body: string,
  { idempotencyKey, atomic, signal }: SendOptions,
): Promise<Ingested> {
  const answer = await unwrap(
    api.POST("/v1/audit/events", {
      params: {
        query: { ...(atomic && { atomic }) },
        header: { ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }) },
      },
      // Text already; the type is what it is the text of.
      body: body as unknown as Schemas["NewEvents"],
      bodySerializer: (text) => text,
      signal: within(signal),
    }),
    signal,
  );
  if (!isIngested(answer)) throw oddAnswer();
  return answer;
}

function isIngested(answer: unknown): answer is Ingested {
  if (!isObject(answer)) return false;
  const { ingested, rejected } = answer;
  return typeof ingested === "number" && Array.isArray(rejected) && rejected.every(isObject);
}

type ListQuery = NonNullable<paths["/v1/audit/events"]["get"]["parameters"]["query"]>;

/** Which events. Values of one field are alternatives; different fields must all hold. */
export type ListFilter = Omit<ListQuery, "cursor" | "limit"> & {
  /** How many are asked for at a time, 1 to 1,000. */
  pageSize?: number;
  signal?: AbortSignal;
};

/** Every event that passes a filter, newest first unless `order` is `asc`, however many there are. */
export async function* listEvents(
  { api, within }: Connection,
  { pageSize, signal, ...filter }: ListFilter = {},
): AsyncGenerator<Event, void, undefined> {
  let cursor: string | null | undefined;
  do {
    const query = { ...filter, ...(pageSize && { limit: pageSize }), ...(cursor && { cursor }) };
    const ask = () =>
      unwrap(api.GET("/v1/audit/events", { params: { query }, signal: within(signal) }), signal);
    const page = await persist(ask, signal);
    yield* page.data;
    cursor = page.next_cursor;
  } while (cursor);
}
