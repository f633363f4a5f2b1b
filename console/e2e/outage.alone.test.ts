// The database goes away for a moment, in earnest: people are told so, and what they looked at comes back.
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, expect, inject, test } from "vitest";
import { expectAccessible, leave, picture, useBrowser, visit } from "./browser";
import { until } from "./until";

useBrowser();

interface Process {
  pid: number;
  parent: number;
  command: string;
}

function processes(): Process[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return [{ pid: Number(pid), parent, command }];
    } catch {
      // It ended meanwhile.
      return [];
    }
  });
}

/** The PostgreSQL that this demo started for itself, known by its port. */
function database(): Process {
  const { port } = new URL(inject("demo").postgres_url);
  const found = processes().find(({ command }) => command.includes(`-c port=${port} `));
  if (found === undefined) throw new Error(`no PostgreSQL with port ${port}`);
  return found;
}

let stopped: number | undefined;

/** It takes no connection any more, and those that there are end. */
function stop(): void {
  const { pid } = database();
  stopped = pid;
  process.kill(pid, "SIGSTOP");
  const isConnection = ({ parent, command }: Process) => parent === pid && command.includes("127.0.0.1(");
  for (const one of processes().filter(isConnection)) process.kill(one.pid, "SIGTERM");
}

function goOn(): void {
  if (stopped !== undefined) process.kill(stopped, "SIGCONT");
  stopped = undefined;
}

afterEach(goOn);

test("while the database is away a screen says so in the server's words, and heals by trying again", async () => {
  const visited = await visit("/sessions");
  const { page } = visited;
  await page.getByRole("link", { name: "Alert rules" }).waitFor();
  stop();
  await page.getByRole("link", { name: "Alert rules" }).click();
  const told = page.locator('main [data-state="error"]').first();
  await told.waitFor({ timeout: 50_000 });
  expect(await told.innerText()).toMatch(/PostgreSQL, which is down/);
  await expectAccessible(page);
  await picture(page, "outage");
  goOn();
  const rules = `${inject("demo").base_url}/v1/alert-rules`;
  const headers = { Authorization: `Bearer ${inject("demo").api_key}` };
  await until("The server is well", async () => (await fetch(rules, { headers })).ok || undefined);
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByRole("table", { name: "Alert rules" }).waitFor();
  expect(await page.locator('main [data-state="error"]').count()).toBe(0);
  const isOutage = (text: string) => text.includes("status of 503");
  visited.troubles.splice(0, visited.troubles.length, ...visited.troubles.filter((one) => !isOutage(one)));
  await leave(visited);
}, 120_000);
