// A real Watchbell with engines of its own: `watchbell dev --json`, as a process.
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

/** The line that it prints, as far as tests need it. */
export interface Demo {
  base_url: string;
  api_key: string;
  signing_secret: string;
  receiver_url: string;
}

export interface Server {
  demo: Demo;
  stop: () => Promise<void>;
}

const READY_WITHIN_MS = 120_000;
const STOPPED_WITHIN_MS = 30_000;

/** Starts one. Settings are variables such as `WATCHBELL__LIMITS__INGEST`; without a folder it keeps nothing. */
export async function start(settings: Record<string, string>, folder?: string): Promise<Server> {
  const binary = resolve(process.env.WATCHBELL_BINARY ?? "../../target/debug/watchbell");
  const kept = folder ? ["--data-dir", folder] : [];
  const server = spawn(binary, ["dev", "--json", ...kept], {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { demo: JSON.parse(await firstLine(server, READY_WITHIN_MS)), stop: () => stop(server) };
}

/** The first line that a process prints. */
export function firstLine(child: ChildProcess, withinMs: number): Promise<string> {
  return new Promise((done, fail) => {
    const late = setTimeout(
      () => fail(new Error(`${child.spawnfile} said nothing for ${withinMs} ms`)),
      withinMs,
    );
    const end = (settle: () => void) => {
      clearTimeout(late);
      settle();
    };
    if (child.stdout) createInterface({ input: child.stdout }).once("line", (line) => end(() => done(line)));
    child.once("exit", (code) => end(() => fail(new Error(`${child.spawnfile} ended with ${code}`))));
    child.once("error", (error) => end(() => fail(error)));
  });
}

/** Ends a process, by force if it has to be. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOPPED_WITHIN_MS);
  await ended;
  clearTimeout(late);
}
