// Starts and ends a session in this browser, and forgets what another user saw before.
import type { useNavigate } from "@tanstack/react-router";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { me, queries } from "../api/queries";

export async function signIn(login: Body<"Login">): Promise<Body<"WhoBody">> {
  const who = await answer(api.POST("/v1/auth/login", { body: { ...login, email: login.email.trim() } }));
  queries.clear();
  queries.setQueryData(me.queryKey, who);
  return who;
}

/** Goes out after a session has ended. The screen goes first: it could not be drawn without what is forgotten. */
export async function leave(navigate: ReturnType<typeof useNavigate>): Promise<void> {
  await navigate({ to: "/sign-in" });
  await endAnswers();
  queries.clear();
  // Drafts of this tab are for nobody else's eyes.
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith("watchbell.")) sessionStorage.removeItem(key);
  }
}

/** Takes back what was answered and not sent: whoever signs in next must not send it. */
export async function endAnswers(): Promise<void> {
  const { takeBackAll } = await import("../decisions/answers");
  takeBackAll();
}

/** Ends the session. One that has ended already is as good. */
export async function signOut(): Promise<void> {
  try {
    await answer(api.POST("/v1/auth/logout"));
  } catch (error) {
    if (!(error instanceof Problem && error.isUnauthenticated)) throw error;
  }
}
