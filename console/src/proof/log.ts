// Asks the server for proofs, for what is open on the screen. Lists ask for none.
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { Problem } from "../api/problem";
import type { Judged, LogKeys } from "./judge";

export type Proof =
  | Judged
  /** No checkpoint has it; why, in the server's words. */
  | { is: "absent"; why: string }
  /** The deployment keeps no log. */
  | { is: "no_log" };

/** A checkpoint is signed about once a second; who looked sooner sees it without asking again. */
const ASK_AGAIN_MS = 2_000;
const ASKS_MAX = 5;
const KEYS_FRESH_MS = 300_000;

/** Null if there is no log, or none yet; then nothing more is asked for. */
const logKeys = queryOptions({
  queryKey: ["log", "keys"],
  queryFn: () => orNull<LogKeys>(answer(api.GET("/v1/log/keys"))),
  staleTime: ({ state }) => (state.data === null ? ASK_AGAIN_MS : KEYS_FRESH_MS),
});

const again = (isAbsent: boolean, asks: number) => (isAbsent && asks < ASKS_MAX ? ASK_AGAIN_MS : false);

/** Of one event. */
export function eventProof(id: string) {
  return queryOptions({
    queryKey: ["proof", id],
    queryFn: async ({ client }): Promise<Proof> => {
      const log = await keysOf(client);
      if (log === null) return { is: "no_log" };
      const params = { path: { id } };
      try {
        const proof = await answer(api.GET("/v1/audit/events/{id}/proof", { params, parseAs: "text" }));
        // The log commits to the bytes, so they are taken as they come.
        const stored = await answer(api.GET("/v1/audit/events/{id}", { params, parseAs: "text" }));
        const { judge } = await import("./judge");
        return judge("event", stored, proof, log);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return { is: "absent", why: error.message };
      }
    },
    refetchInterval: ({ state }) => again(state.data?.is === "absent", state.dataUpdateCount),
    staleTime: KEYS_FRESH_MS,
  });
}

const NOT_PROVEN_YET = "No checkpoint has this attempt yet, or it is older than the log.";

/** Of all attempts of a delivery, by their ids. `attempts` is how many it has, so that one more is asked for. */
export function attemptProofs(id: string, attempts: number) {
  return queryOptions({
    queryKey: ["proof", id, attempts],
    queryFn: async ({ client }): Promise<Record<string, Proof>> => {
      const log = await keysOf(client);
      if (log === null) return {};
      const got = await orNull(answer(api.GET("/v1/deliveries/{id}/proof", { params: { path: { id } } })));
      const { judge } = await import("./judge");
      const judged = (got?.attempts ?? []).map(({ id: attempt, statement, proof }): [string, Proof] => [
        attempt,
        proof ? judge("attempt", statement, proof, log) : { is: "absent", why: NOT_PROVEN_YET },
      ]);
      return Object.fromEntries(judged);
    },
    refetchInterval: ({ state }) => {
      const isAbsent = Object.values(state.data ?? {}).some(({ is }) => is === "absent");
      return again(isAbsent, state.dataUpdateCount);
    },
    staleTime: KEYS_FRESH_MS,
  });
}

function keysOf(client: QueryClient): Promise<LogKeys | null> {
  return client.fetchQuery(logKeys);
}

/** What is not there, or not kept by this deployment, is null. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

function isNotFound(error: unknown): error is Problem {
  return error instanceof Problem && (error.status === 404 || error.code === "NOT_CONFIGURED");
}
