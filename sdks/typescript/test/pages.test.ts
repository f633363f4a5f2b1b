// The code in the documentation, as it stands there: type-checked, and run against a real server.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { signWebhook } from "../src/index.js";

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

/** What a block prints, with the environment that `watchbell dev` leads to. */
async function printed(name: string): Promise<string> {
  const { base_url: WATCHBELL_URL, api_key: WATCHBELL_API_KEY } = inject("demo");
  const env = { ...process.env, WATCHBELL_URL, WATCHBELL_API_KEY };
  const { stdout } = await run(process.execPath, [join(FOLDER, name.replace(".ts", ".js"))], {
    env,
    timeout: 30_000,
  });
  return stdout;
}

describe("the pages", () => {
  it("have these blocks, and each is run below", () => {
    const names = blocks.map(({ name }) => name);
    const run = ["quick.ts", "handler.ts", "record.ts", "read.ts", "decide.ts", "guard.ts", "rules.ts"];
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
