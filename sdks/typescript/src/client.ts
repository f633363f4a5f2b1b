// The client: every path of the API, and the main jobs as functions.
import { type ClientOptions, type Connection, connect } from "./connection.js";
import { type Answer, type AskOptions, type DecisionRequest, decide } from "./decide.js";
import {
  type Event,
  type Ingested,
  type ListFilter,
  listEvents,
  type NewEvent,
  type SendOptions,
  sendEvents,
} from "./events.js";
import { type GuardOptions, guard } from "./guard.js";
import { type TailFilter, tailEvents } from "./tail.js";

export interface Client extends Connection {
  /** Sends up to 1,000 events, again if there is no answer. When it returns, the accepted ones are durable. */
  sendEvents(events: NewEvent | readonly NewEvent[], options?: SendOptions): Promise<Ingested>;
  /** Every event that passes a filter, newest first unless `order` is `asc`. */
  listEvents(filter?: ListFilter): AsyncGenerator<Event, void, undefined>;
  /** Matching events as they are accepted, until the signal or the loop ends. */
  tailEvents(filter?: TailFilter): AsyncGenerator<Event, void, undefined>;
  /** Asks whether an agent may do something. */
  decide(question: DecisionRequest & AskOptions): Promise<Answer>;
  /** The function, behind a decision. */
  guard<P extends object, R>(
    run: (payload: P) => R | Promise<R>,
    options: GuardOptions<P>,
  ): (payload: P) => Promise<R>;
}

/** Throws if there is no URL or no key, neither here nor in the environment. Asks the server nothing yet. */
export function createClient(options: ClientOptions = {}): Client {
  const connection = connect(options);
  return {
    ...connection,
    sendEvents: (events, options) => sendEvents(connection, events, options),
    listEvents: (filter) => listEvents(connection, filter),
    tailEvents: (filter) => tailEvents(connection, filter),
    decide: (question) => decide(connection, question),
    guard: (run, options) => guard(connection, run, options),
  };
}
