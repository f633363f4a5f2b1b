// The typed way to every path of the API, and how long an answer may take.
import createApi from "openapi-fetch";
import type { components, paths } from "./schema.js";
import { apiKey, serverUrl } from "./settings.js";

export type Schemas = components["schemas"];

export interface ClientOptions {
  /** Where Watchbell is; `WATCHBELL_URL` unless given. */
  url?: string | undefined;
  /** An API key; `WATCHBELL_API_KEY` unless given. */
  apiKey?: string | undefined;
  /** How long an answer may take, in milliseconds (10,000). `decide` has its own. */
  timeoutMs?: number | undefined;
  /** Another `fetch`, for example through a proxy. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

const TIMEOUT_MS = 10_000;

/** What calls are made with. */
export interface Connection {
  /** Every path of the API: `api.GET("/v1/alert-rules")`. */
  readonly api: ReturnType<typeof createApi<paths>>;
  /** The caller's signal, and the time an answer may take. */
  readonly within: (signal?: AbortSignal, timeoutMs?: number) => AbortSignal;
}

export function connect(options: ClientOptions): Connection {
  const baseUrl = options.url ?? serverUrl();
  const key = options.apiKey ?? apiKey();
  if (!baseUrl) throw new TypeError("where is Watchbell? Pass `url`, or set WATCHBELL_URL");
  if (!key) throw new TypeError("no API key: pass `apiKey`, or set WATCHBELL_API_KEY");
  const api = createApi<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${key}` },
    // Nobody but the server that was named gets to see a payload or to decide. Not `error`, which some workers lack.
    redirect: "manual",
    ...(options.fetch && { fetch: options.fetch }),
  });
  const within = (signal?: AbortSignal, timeoutMs = options.timeoutMs ?? TIMEOUT_MS) => {
    const late = AbortSignal.timeout(timeoutMs);
    return signal ? AbortSignal.any([signal, late]) : late;
  };
  return { api, within };
}
