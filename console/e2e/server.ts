// One real Watchbell for all tests: private engines, a demo of 100,000 events, somebody who is logged in.
//
// `WATCHBELL_BINARY` names another binary, `CONSOLE_URL` another place to load pages from (`npm run dev`),
// `DEMO_EVENTS` another size, and `DEMO` is the line that a `watchbell dev --json` printed which runs already.
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestProject } from "vitest/node";
import { writeGallery } from "./gallery";

export interface Demo {
  base_url: string;
  api_key: string;
  signing_secret: string;
  receiver_url: string;
  postgres_url: string;
  user_email: string;
  user_password: string;
}

declare module "vitest" {
  interface ProvidedContext {
    demo: Demo;
    /** Where pages are loaded from. */
    console: string;
    /** The session cookie of the demo's owner. */
    session: { name: string; value: string };
  }
}

/** Filling the trail is most of it. */
const READY_WITHIN_MS = 240_000;
const STOPPED_WITHIN_MS = 30_000;

/** Started for the first project that asks and stopped after the last: tests that run alone have the same one. */
const shared = globalThis as { watchbell?: { running: Promise<Running>; users: number } };

export default async function setup(project: TestProject) {
  shared.watchbell ??= { running: start(), users: 0 };
  const { watchbell } = shared;
  watchbell.users += 1;
  const { server, demo } = await watchbell.running;
  project.provide("demo", demo);
  project.provide("console", process.env.CONSOLE_URL ?? demo.base_url);
  project.provide("session", await login(demo.base_url, demo.user_email, demo.user_password));
  return async () => {
    watchbell.users -= 1;
    if (watchbell.users > 0) return;
    writeGallery();
    if (server) await stop(server);
  };
}

/** People at the keyboard are slower than tests, so that limits made for people would be met. */
const FOR_TESTS = {
  WATCHBELL__LIMITS__LIST: "100000/60s",
  WATCHBELL__LIMITS__STREAMS: "100000/60s",
  WATCHBELL__LIMITS__STATS: "100000/60s",
  WATCHBELL__LIMITS__READS: "100000/60s",
  WATCHBELL__LIMITS__WRITES: "1000/60s",
  WATCHBELL__LIMITS__PUBLIC: "100000/60s",
  WATCHBELL__LIMITS__RULE_WRITES: "1000/60s",
  WATCHBELL__LIMITS__RULE_TRIES: "1000/60s",
  WATCHBELL__LIMITS__POLICY_WRITES: "1000/60s",
  WATCHBELL__LIMITS__POLICY_TRIES: "1000/60s",
  WATCHBELL__LIMITS__REGISTER: "100/3600s",
  WATCHBELL__LIMITS__LOGIN: "1000/900s",
  WATCHBELL__LIMITS__LOGIN_ELSEWHERE: "1000/3600s",
};

interface Running {
  /** None if it is not ours to stop. */
  server?: ChildProcess;
  demo: Demo;
}

async function start(): Promise<Running> {
  if (process.env.DEMO) return { demo: JSON.parse(process.env.DEMO) };
  return launch(["--demo", process.env.DEMO_EVENTS ?? "100000"]);
}

/** A Watchbell with engines of its own, for a test that stops it. */
export async function launch(options: string[]): Promise<Required<Running>> {
  const binary = resolve(process.env.WATCHBELL_BINARY ?? "../target/debug/watchbell");
  const server = spawn(binary, ["dev", "--json", ...options], {
    env: { ...process.env, ...FOR_TESTS },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: server.stdout });
  const demo = await new Promise<Demo>((done, fail) => {
    const late = setTimeout(
      () => fail(new Error(`${binary} dev was not ready within ${READY_WITHIN_MS} ms`)),
      READY_WITHIN_MS,
    );
    lines.once("line", (line) => {
      clearTimeout(late);
      done(JSON.parse(line));
    });
    server.once("exit", (code) => fail(new Error(`${binary} dev ended with ${code}`)));
    server.once("error", fail);
  });
  return { server, demo };
}

/** The cookie of a new session. */
export async function login(
  base: string,
  email: string,
  password: string,
): Promise<{ name: string; value: string }> {
  const response = await fetch(`${base}/v1/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`login: ${response.status} ${await response.text()}`);
  const [cookie] = response.headers.getSetCookie();
  const [name = "", value = ""] = cookie?.split(";")[0]?.split("=") ?? [];
  return { name, value };
}

export async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = new Promise<void>((done) => server.once("exit", () => done()));
  server.kill("SIGTERM");
  const late = setTimeout(() => server.kill("SIGKILL"), STOPPED_WITHIN_MS);
  await ended;
  clearTimeout(late);
}
