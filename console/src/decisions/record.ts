// Events of the trail as decisions and ends of approvals. What is not as the server writes it is left out:
// no event breaks a screen, whoever wrote it.
import { isOurs } from "../events/row";
import { type Decision, MEANING } from "./model";

/** The event that says how an approval ended. */
export interface End extends Omit<Decision, "received_at" | "session_id" | "trace_id" | "metadata"> {
  metadata: { reason?: string; by?: string; note?: string };
}

export function decisionOf(event: unknown): Decision {
  return withMetadata(event, OF_A_DECISION) as unknown as Decision;
}

export function endOf(event: unknown): End {
  return withMetadata(event, OF_AN_END) as unknown as End;
}

/** Whether an event is a decision, and ours. */
export function isDecision(event: unknown): boolean {
  return isOurKind(event, "decision");
}

/** Whether an event is the end of an approval, which the server writes. */
export function isEnd(event: unknown): boolean {
  return isOurKind(event, "approval");
}

function isOurKind(event: unknown, kind: string): boolean {
  const { event_type, source } = fieldsOf(event) as { event_type?: string; source?: string };
  return event_type === kind && isOurs({ source });
}

/** Whether a value is what its field holds. */
type Shape = (value: unknown) => boolean;
/** Not an object: a name of somebody's may be one that every object has. */
type Shapes = Map<string, Shape>;

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);

const OF_AN_END: Shapes = new Map<string, Shape>([
  ["reason", isText],
  ["by", isText],
  ["note", isText],
]);

const OF_A_DECISION: Shapes = new Map<string, Shape>([
  ["decision", isVerdict],
  ["reason", isText],
  ["policies", isTexts],
  ["policies_left_out", isNumber],
  ["errors", (value) => Array.isArray(value) && value.every(isError)],
  ["errors_left_out", isNumber],
  ["policy_version", isNumber],
  ["policy_digest", isText],
  ["question", isQuestion],
  ["mode", isText],
  ["shadow", isShadow],
  ["approval", isText],
  ["refused", isRefused],
  ["took_us", isNumber],
]);

function withMetadata(event: unknown, shapes: Shapes): object {
  const { metadata, ...said } = fieldsOf(event);
  const isKept = ([name, value]: [string, unknown]) => shapes.get(name)?.(value) ?? true;
  const kept = Object.entries(fieldsOf(metadata)).filter(isKept);
  return { ...said, metadata: Object.fromEntries(kept) };
}

/** The fields of an object; what is none has none. */
function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isVerdict(value: unknown): boolean {
  return isText(value) && Object.hasOwn(MEANING, value as string);
}

function isError(value: unknown): boolean {
  const { id, error } = fieldsOf(value);
  return isText(error) && (id === undefined || id === null || isText(id));
}

function isShadow(value: unknown): boolean {
  const { decision, policy_version } = fieldsOf(value);
  return isVerdict(decision) && isNumber(policy_version);
}

function isRefused(value: unknown): boolean {
  const { why, approval } = fieldsOf(value);
  return isText(why) && (approval === undefined || isText(approval));
}

function isQuestion(value: unknown): boolean {
  const { principal, action, resource, context } = fieldsOf(value);
  return isParty(principal) && isText(action) && isParty(resource) && isMaybeObject(context);
}

function isParty(value: unknown): boolean {
  const { type, id, properties } = fieldsOf(value);
  return isText(type) && isText(id) && isMaybeObject(properties);
}

function isMaybeObject(value: unknown): boolean {
  return value === undefined || isObject(value);
}
