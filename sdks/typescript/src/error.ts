// What can go wrong between here and the server, as one type.
import type { components } from "./schema.js";

/** What is wrong with one field. */
export type Fault = components["schemas"]["Fault"];

/** The codes of docs/errors, those of no answer at all, and whatever a newer server says. */
export type ErrorCode =
  | components["schemas"]["ErrorCodeWord"]
  | "NO_ANSWER"
  | "TIMEOUT"
  | "UNKNOWN"
  | (string & Record<never, never>);

interface Details {
  code: ErrorCode;
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  errors?: Fault[] | undefined;
  cause?: unknown;
}

/** A request that was refused, or got no answer. */
export class WatchbellError extends Error {
  override readonly name = "WatchbellError";
  /** Stable; `UNKNOWN` if something in between answered. */
  readonly code: ErrorCode;
  /** Of the answer, if there is one. */
  readonly status: number | undefined;
  /** Quote it when you ask for help. */
  readonly requestId: string | undefined;
  /** How many seconds to wait before asking again, if the server said so. */
  readonly retryAfter: number | undefined;
  /** What is wrong and where, if fields are. */
  readonly errors: Fault[];

  constructor(message: string, { code, status, requestId, retryAfter, errors = [], cause }: Details) {
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.errors = errors;
  }

  /** Whether the same request may be answered later: there was no answer, too many asked, or the server is in trouble. */
  get isTransient(): boolean {
    const { status } = this;
    return status === undefined || status === 408 || status === 429 || (status >= 500 && status !== 501);
  }
}

/**
 * The data of an answer of `client.api`; what is not one is thrown as a {@link WatchbellError}. Whoever aborts the request
 * gets their own reason back if its signal is passed here too.
 */
export async function unwrap<T>(
  asked: Promise<{ data?: T; error?: unknown; response: Response }>,
  signal?: AbortSignal,
): Promise<T> {
  const { data, error, response } = await asked.catch((cause) => {
    signal?.throwIfAborted();
    throw noAnswer(cause);
  });
  if (!response.ok) throw refusal(response, error);
  return data as T;
}

/** What a request that ended without an answer is thrown as. */
export function noAnswer(cause: unknown): WatchbellError {
  if (cause instanceof WatchbellError) return cause;
  const name = cause instanceof Error || cause instanceof DOMException ? cause.name : "";
  if (name === "TimeoutError") {
    return new WatchbellError("the server did not answer in time", { code: "TIMEOUT", cause });
  }
  return new WatchbellError(`the server did not answer: ${reason(cause)}`, { code: "NO_ANSWER", cause });
}

/** What an answer that is not one of Watchbell's is thrown as. */
export function oddAnswer(message = "something that is not Watchbell answered"): WatchbellError {
  return new WatchbellError(message, { code: "NO_ANSWER" });
}

/** An answer that is not 2xx. What is between here and the server may have written it, so nothing is taken for granted. */
export function refusal({ status, headers }: Response, body: unknown): WatchbellError {
  if (status < 400)
    return oddAnswer("there was a redirect, which is not followed: check the URL of Watchbell");
  const problem = isObject(body) ? body : {};
  const code = textOf(problem.code) ?? "UNKNOWN";
  const detail = textOf(problem.detail) ?? `the server answered ${status}`;
  return new WatchbellError(`${code}: ${detail}`, {
    code,
    status,
    requestId: textOf(problem.request_id) ?? headers.get("x-request-id") ?? undefined,
    retryAfter: seconds(headers.get("retry-after")),
    errors: Array.isArray(problem.errors) ? problem.errors.filter(isFault) : [],
  });
}

/** An object of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFault(value: unknown): value is Fault {
  return (
    isObject(value) && [value.code, value.pointer, value.detail].every((text) => typeof text === "string")
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** `Retry-After` is whole seconds from us, and may be a date from a proxy. */
function seconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** `fetch` says "fetch failed", and what failed in its cause. */
function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? cause.cause.message || cause.message : cause.message;
}
