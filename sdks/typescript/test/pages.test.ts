// The code in the documentation, as it stands there: type-checked, and run against a real server.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { signWebhook } from "../src/index.js";
import { until } from "./until.js";

const run = promisify(execFile);

/** Inside the package, so that it finds itself by its name. */
const FOLDER = resolve("dist/pages");
const PAGES = ["README.md", "../../docs/how-to/typescript.md"];

const blocks = PAGES.flatMap((page) => [
  ...readFileSync(page, "utf8").matchAll(/^```ts (\S+)\n(.*?)^```$/gms),
]).map(([, name = "", code = ""]) => ({ name, code }));

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, code } of blocks) writeFileSync(join(FOLDER, name), code);
  const files = blocks.map(({ name }) => name);
  const compilerOptions = { noEmit: false, noEmitOnError: true, rootDir: ".", outDir: "." };
  writeFileSync(
    join(FOLDER, "tsconfig.json"),
    JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, files, include: [] }),
  );
  const checked = await run("npx", ["tsc", "--project", FOLDER]).catch((error) => error);
  expect(checked.stdout).toBe("");
});

/** The server's own export that proves itself, in the folder of the pages. */
const EXPORT = join(FOLDER, "trail.bundle");

async function writeExport(): Promise<void> {
  const { base_url, api_key } = inject("demo");
  const headers = { Authorization: `Bearer ${api_key}`, "Content-Type": "application/json" };
  const asked = { method: "POST", headers, body: JSON.stringify({ format: "bundle" }) };
  // The first checkpoint is signed about a second after the first event.
  const response = await until("A checkpoint is signed", async () => {
    const answer = await fetch(`${base_url}/v1/audit/export`, asked);
    return answer.ok ? answer : undefined;
  });
  writeFileSync(EXPORT, await response.text());
}

/** What a block prints, with the environment that `watchbell dev` leads to. */
async function printed(name: string): Promise<string> {
  const { base_url: WATCHBELL_URL, api_key: WATCHBELL_API_KEY } = inject("demo");
  const env = { ...process.env, WATCHBELL_URL, WATCHBELL_API_KEY };
  const { stdout } = await run(process.execPath, [join(FOLDER, name.replace(".ts", ".js"))], {
    env,
    cwd: FOLDER,
    timeout: 30_000,
  });
  return stdout;
}

describe("the pages", () => {
  it("have these blocks, and each is run below", () => {
    const names = blocks.map(({ name }) => name);
    const run = [
      "quick.ts",
      "handler.ts",
      "record.ts",
      "read.ts",
      "decide.ts",
      "guard.ts",
      "verify.ts",
      "rules.ts",
    ];
    expect(names).toEqual(run);
  });

  it.each([
    ["quick.ts", /^evt_\w+ payments\.refund$/m],
    ["record.ts", /^{ recorded: 2, sent: 2, rejected: 0, dropped: 0 }$/m],
    ["read.ts", /^just now: files\.delete$/m],
    ["decide.ts", /^(allow|escalate) ./m],
    ["guard.ts", /^refunded 20 of 4711$/m],
    ["rules.ts", /^NOT_FOUND ./m],
  ])("%s does what it says", async (name, output) => {
    expect(await printed(name)).toMatch(output);
  });

  it("verify.ts and the example prove an export, and find what was changed", async () => {
    await writeExport();
    expect(await printed("verify.ts")).toMatch(/^proven, [\d,]+ entries$/m);
    const example = async () => {
      const ran = run(process.execPath, ["examples/verify-export.mjs", EXPORT]).then(
        ({ stdout }) => ({ code: 0, stdout }),
        ({ code, stdout }) => ({ code, stdout }),
      );
      return ran as Promise<{ code: number; stdout: string }>;
    };
    expect(await example()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^proven: \d+ entries of /),
    });
    writeFileSync(EXPORT, readFileSync(EXPORT, "utf8").replace("success", "failed"));
    expect(await example()).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^line \d+: what is shown/m),
    });
    expect(await printed("verify.ts")).toMatch(/^line \d+: what is shown is not what the log committed to/m);
    writeFileSync(EXPORT, "no export\n");
    expect(await example()).toMatchObject({ code: 2, stdout: expect.stringMatching(/^cannot_be_checked/) });
  });

  it("handler.ts answers 200, 400 and 401", async () => {
    const { default: handler } = await import(join(FOLDER, "handler.js"));
    const secret = inject("demo").signing_secret;
    vi.stubEnv("WATCHBELL_SIGNING_SECRET", secret);
    const log = vi.spyOn(console, "log").mockReturnValue();
    const body = JSON.stringify({ rule_name: "Denials", event: { action: "files.delete", agent_id: "a" } });
    const post = async (agoMs: number, key: string) => {
      const timestamp = new Date(Date.now() - agoMs).toISOString();
      const headers = {
        "X-Service-Delivery-Id": "dlv_1",
        "X-Service-Timestamp": timestamp,
        "X-Service-Signature": await signWebhook({ secret: key, timestamp, body }),
      };
      return (await handler.fetch(new Request("http://127.0.0.1/", { method: "POST", headers, body })))
        .status;
    };
    expect([await post(0, secret), await post(400_000, secret), await post(0, "another")]).toEqual([
      200, 400, 401,
    ]);
    expect(log.mock.calls).toEqual([["dlv_1: Denials: files.delete by a"]]);
    vi.unstubAllEnvs();
    log.mockRestore();
  });
});
