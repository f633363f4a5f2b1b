// A refusal of the server, as an error that screens can show.
import type { components } from "./schema";

type Body = components["schemas"]["Problem"];

export class Problem extends Error {
  readonly status: number;
  /** `UNKNOWN` if something in between answered. */
  readonly code: Body["code"] | "UNKNOWN";
  /** What is wrong with which field, by JSON pointer. */
  readonly faults: Body["errors"];
  readonly requestId: string | undefined;
  /** After how many seconds to ask again, if the server says so. */
  readonly retryAfterS: number | undefined;

  constructor(status: number, body: Partial<Body>, retryAfterS?: number) {
    super(body.detail ?? body.title ?? `The server returned ${status}.`);
    this.name = "Problem";
    this.status = status;
    this.code = body.code ?? "UNKNOWN";
    this.faults = body.errors ?? [];
    this.requestId = body.request_id;
    this.retryAfterS = retryAfterS;
  }

  get isRateLimited(): boolean {
    return this.status === 429;
  }

  get isUnauthenticated(): boolean {
    return this.status === 401;
  }
}

/** The problem that an answer is. A proxy's error page is one too. */
export async function problemOf(response: Response): Promise<Problem> {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const body: Partial<Body> = await response.json().catch(() => ({}));
  return new Problem(response.status, body, Number.isFinite(seconds) ? seconds : undefined);
}

/** What browsers throw when a request gets no answer: a TypeError, like mistakes of ours, in words of their own. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}

/** What to show of any error. */
export function messageOf(error: unknown): string {
  if (error instanceof Problem) return error.message;
  if (isUnreachable(error)) return "Cannot reach the server. Is it running, and are you online?";
  return error instanceof Error ? error.message : String(error);
}
