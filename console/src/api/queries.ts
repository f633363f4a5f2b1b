// How the console queries the API: when to retry, and who is signed in.
import { QueryClient, queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "./client";
import { Problem } from "./problem";

/** A refusal is an answer and is shown; only what may be an accident is tried again. */
function isWorthAnotherTry(failures: number, error: Error): boolean {
  const isRefusal = error instanceof Problem && error.status < 500;
  return !isRefusal && failures < 2;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthAnotherTry, retryDelay: 500, staleTime: 5_000, refetchOnWindowFocus: false },
    // What was sent, such as a password, is not kept.
    mutations: { retry: false, gcTime: 0 },
  },
});

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: () => answer(api.GET("/v1/me")),
  staleTime: 60_000,
});

/** What the server says of itself to anybody. */
export const about = queryOptions({
  queryKey: ["about"],
  queryFn: () => answer(api.GET("/v1/about")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Who is logged in; for screens inside the shell, where somebody is. */
export function useMe(): Body<"WhoBody"> {
  return useSuspenseQuery(me).data;
}

/** Whether who is logged in may change things. */
export function useMayManage(): boolean {
  return useMe().user.role !== "viewer";
}
