// What the package offers; imports nothing of Node's.
export { type Client, createClient } from "./client.js";
export type { ClientOptions, Schemas } from "./connection.js";
export type { Answer, AskOptions, Decision, DecisionRequest, FailMode, Unanswered } from "./decide.js";
export { type ErrorCode, type Fault, unwrap, WatchbellError } from "./error.js";
export type { Event, Ingested, ListFilter, NewEvent, SendOptions } from "./events.js";
export { Denied, type GuardOptions, type OfPayload } from "./guard.js";
export { Recorder, type RecorderCounts, type RecorderOptions, type Rejected } from "./recorder.js";
export type { paths } from "./schema.js";
export type { TailFilter } from "./tail.js";
export * from "./webhook/index.js";
