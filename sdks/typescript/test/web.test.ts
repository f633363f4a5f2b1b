// The web entry as it is built: without anything of Node's, and in a real browser, over all cases.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, resolve } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { describe, expect, it } from "vitest";
import { CASES, type Case } from "./vectors.js";

const DIST = resolve("dist");

/** What runs elsewhere, as text: answers every case in the words of the vectors. */
async function answerAll(entry: string, cases: Case[]): Promise<{ status: number; code: string }[]> {
  const { Refused, verifyWebhook } = await import(entry);
  return Promise.all(
    cases.map(async ({ headers, body_base64, secrets, scheme, now_unix_ms }) => {
      const body = Uint8Array.from(atob(body_base64), (letter) => letter.charCodeAt(0));
      try {
        await verifyWebhook({ headers, body }, { secrets, scheme, now: now_unix_ms });
        return { status: 200, code: "accepted" };
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return { status: (error as Case["expect"]).status, code: (error as Case["expect"]).code };
      }
    }),
  );
}

const expected = CASES.map((one) => one.expect);

/** The files that an entry of the package is made of, and what they import that is not one of them. */
function graph(entry: string): { files: string[]; packages: string[] } {
  const files = [resolve(DIST, entry)];
  const packages: string[] = [];
  for (const file of files) {
    const imported = readFileSync(file, "utf8").matchAll(/(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g);
    for (const [, name = ""] of imported) {
      const path = resolve(file, "..", name);
      if (!name.startsWith(".")) packages.push(name);
      else if (!files.includes(path)) files.push(path);
    }
  }
  return { files, packages };
}

describe("the built package", () => {
  it("imports nothing for verification, and only openapi-fetch for the client", () => {
    const { files, packages } = graph("webhook/index.js");
    expect(files.length).toBeGreaterThan(3);
    expect(packages).toEqual([]);
    expect(graph("index.js").packages).toEqual(["openapi-fetch"]);
    expect(graph("webhook/node.js").packages).toEqual(["node:crypto"]);
  });

  it("answers every case with the web's globals alone", async () => {
    const program = `
      const [entry, cases] = [process.argv[1], JSON.parse(require("node:fs").readFileSync(0, "utf8"))];
      const print = process.stdout.write.bind(process.stdout);
      new Request("http://127.0.0.1/"); // Node's own makes itself on first use, with Node's globals.
      for (const name of ["process", "Buffer", "global", "require", "module", "setImmediate"]) delete globalThis[name];
      const answerAll = ${answerAll.toString().replaceAll("__vite_ssr_dynamic_import__", "import")};
      answerAll(entry, cases).then((answers) => print(JSON.stringify(answers) + "|" + typeof process));`;
    const running = promisify(execFile)(process.execPath, [
      "--eval",
      program,
      resolve(DIST, "webhook/index.js"),
    ]);
    running.child.stdin?.end(JSON.stringify(CASES));
    const [answers = "", process_ = ""] = (await running).stdout.split("|");
    expect(process_).toBe("undefined");
    expect(JSON.parse(answers)).toEqual(expected);
  });

  it("answers every case in a browser", async () => {
    const site = createServer((request, response) => {
      const isFile = extname(request.url ?? "") === ".js";
      response.setHeader("Content-Type", isFile ? "text/javascript" : "text/html");
      response.end(
        isFile ? readFileSync(resolve(DIST, `.${request.url}`)) : "<!doctype html><title>vectors</title>",
      );
    });
    await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    const browser = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
      const program = answerAll.toString().replaceAll("__vite_ssr_dynamic_import__", "import");
      const answers = await page.evaluate(`(${program})("/webhook/index.js", ${JSON.stringify(CASES)})`);
      expect(answers).toEqual(expected);
    } finally {
      await browser.close();
      site.close();
    }
  });
});
