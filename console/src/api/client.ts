// The API client, typed by the OpenAPI document. Every refusal is thrown as a `Problem`.
import createClient from "openapi-fetch";
import { problemOf } from "./problem";
import type { components, paths } from "./schema";

/** The shapes of the API by name, such as `Body<"Rule">`. */
export type Body<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** A repeated parameter means "or", as the server reads it. */
const querySerializer = { array: { style: "form", explode: true } } as const;

export const api = createClient<paths>({ baseUrl: "/", querySerializer });

api.use({
  async onResponse({ response }) {
    if (!response.ok) throw await problemOf(response);
  },
});

/** What a call answered. Refusals were thrown before, so there is some. */
export async function answer<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
