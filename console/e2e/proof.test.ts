// What an auditor does: takes an export, has the page verify it, and asks of one event whether it is in the log.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization, type Organization } from "./organization";
import { launch, stop } from "./server";
import { send, unique } from "./trail";
import { until } from "./until";

useBrowser();

/** A log that nobody here keeps, and a witness that saw nothing. */
const OTHER_LOG = "log.example/org_1+4046787c+AZsfhHkc/HZjBFhU04netcqVRJ2HXydqg4QLBgqznPxx";
const WITNESS = "witness.example/w1+d7744454+BPck7Ua4dLPhmJVWe2MJG+7FPf0ffZ5EmxoPjVCX221W";

/** The bytes of an export of everything, as soon as a checkpoint has so many events. */
async function bundle(base: string, who: Record<string, string>, eventsMin: number): Promise<string> {
  return until("A checkpoint has the events", async () => {
    const response = await fetch(`${base}/v1/audit/export`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...who },
      body: JSON.stringify({ format: "bundle" }),
    });
    if (!response.ok) return undefined;
    const text = await response.text();
    return text.split("\n").filter((line) => line.includes('"event":')).length >= eventsMin
      ? text
      : undefined;
  });
}

const asOwner = ({ session }: Organization) => ({ Cookie: `${session.name}=${session.value}` });

/** Lets go of a file over the page, as a person's hand does. */
async function drop(page: Page, text: string, name = "audit-events.bundle"): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([content, called]) => {
      const held = new DataTransfer();
      held.items.add(new File([content], called));
      return held;
    },
    [text, name] as const,
  );
  const zone = page.locator("[data-drop-zone]");
  await zone.dispatchEvent("dragover", { dataTransfer: transfer });
  await page.getByText("Let go to verify it").waitFor();
  await zone.dispatchEvent("drop", { dataTransfer: transfer });
}

test("a person exports a bundle, drops it on the page and sees that it is proven", async () => {
  const own = await newOrganization("Proof");
  const agent = unique("proven");
  await send(
    own,
    Array.from({ length: 12 }, () => ({ agent_id: agent })),
  );
  await bundle(inject("demo").base_url, asOwner(own), 12);
  const seen = await visit("/events", { session: own.session });
  await seen.page.getByRole("button", { name: "Export", exact: true }).click();
  const dialog = seen.page.getByRole("dialog", { name: "Export events" });
  await dialog.getByText("bundle", { exact: true }).click();
  await dialog.getByRole("link", { name: "verify it in a browser" }).waitFor();
  await picture(seen.page, "export-bundle");
  await expectAccessible(seen.page);
  const downloading = seen.page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Download" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/\.bundle$/);
  const file = readFileSync(await download.path(), "utf8");
  await leave(seen);

  // Nobody is signed in.
  const verifying = await visit("/verify", { session: null });
  const { page } = verifying;
  await page.getByRole("heading", { level: 1, name: "Verify an export" }).waitFor();
  await picture(page, "verify");
  await expectAccessible(page);
  await drop(page, file);
  await page.locator("[data-verdict=proven]").waitFor();
  const verdict = page.locator("[data-verdict]");
  expect(await verdict.innerText()).toMatch(/Proven\s+All \d+ entries of the log are accounted for/);
  expect(await verdict.innerText()).toMatch(/Whose log this is: the key came from the file itself/);
  await picture(page, "verify-proven");
  await expectAccessible(page);

  // With the log's key from the server, and the checkpoint of this check, less is left open.
  const { keys } = await own.manage<{ keys: { verifier: string }[] }>("GET", "/v1/log/keys");
  await page.getByLabel("Log key").fill(keys[0]?.verifier ?? "");
  const checkpoint = page.getByRole("region", { name: "checkpoint" });
  await page.getByLabel("Checkpoint you kept").fill(await checkpoint.innerText());
  await page.getByRole("button", { name: "Verify again" }).click();
  await page.getByText("Whose log this is").waitFor({ state: "detached" });
  await page.locator("[data-verdict=proven]").waitFor();
  await leave(verifying);
});

test("a file with one changed letter says what is wrong and in which line", async () => {
  const own = await newOrganization("Forged");
  const agent = unique("forged");
  await send(own, [{ agent_id: agent }, { agent_id: `${agent}-2` }]);
  const file = await bundle(inject("demo").base_url, asOwner(own), 2);
  const forged = file.replace(`${agent}-2`, `${agent}-3`);
  const line = forged.split("\n").findIndex((one) => one.includes(`${agent}-3`)) + 1;
  expect(line).toBeGreaterThan(1);

  const seen = await visit("/verify", { session: null, scheme: "dark" });
  const { page } = seen;
  await drop(page, forged);
  await page.locator("[data-verdict=not_proven]").waitFor();
  const findings = page.getByRole("table", { name: "Findings" }).getByRole("row");
  expect(await findings.allInnerTexts()).toEqual([
    expect.stringMatching(/Line\s+Finding/),
    expect.stringMatching(
      new RegExp(`^${line}\\s+What is shown is not what the log committed to.*commitment_mismatch`),
    ),
  ]);
  await picture(page, "dark/verify-not-proven", "small");
  await expectAccessible(page);

  // A letter less in the middle, and a file that ends early.
  await drop(page, file.slice(0, file.length / 2));
  await page.getByText("The file was cut off: its last line is missing.").waitFor();
  await drop(page, '{"hello":"world"}\n', "hello.json");
  await page.locator("[data-verdict=cannot_be_checked]").waitFor();
  await expectAccessible(page);
  await leave(seen);
});

test("keys that do not fit are refused at their field, or by the verdict", async () => {
  const own = await newOrganization("Keys");
  const file = await bundle(inject("demo").base_url, asOwner(own), 1);
  const seen = await visit("/verify", { session: null, width: 375, height: 760 });
  const { page } = seen;
  const logKey = page.getByLabel("Log key");
  await logKey.fill("nonsense");
  await drop(page, file);
  await page.getByText("The key is not <name>+<id>+<key>.").waitFor();
  expect(await logKey.evaluate((field) => field === document.activeElement)).toBe(true);
  await expectAccessible(page);

  await logKey.fill(OTHER_LOG);
  await page.getByLabel("Witness key").fill(WITNESS);
  await page.getByRole("button", { name: "Verify audit-events.bundle" }).click();
  await page.locator("[data-verdict=not_proven]").waitFor();
  const findings = await page.getByRole("table", { name: "Findings" }).innerText();
  expect(findings).toMatch(/not_signed/);
  expect(findings).toMatch(/A witness did not cosign the checkpoint \(witness\.example\/w1\)\./);
  await expectNoSidewaysScroll(page);
  await picture(page, "phone/verify", "small");
  await leave(seen);
});

test("the page verifies while the server is stopped", async () => {
  const { server, demo } = await launch([]);
  try {
    const who = { Authorization: `Bearer ${demo.api_key}` };
    const file = await bundle(demo.base_url, who, 1);
    const seen = await visit(`${demo.base_url}/verify`, { session: null });
    const { page } = seen;
    await page.getByRole("heading", { level: 1, name: "Verify an export" }).waitFor();
    await page.waitForLoadState("networkidle");
    await stop(server);
    await expect(fetch(demo.base_url)).rejects.toThrow();
    await drop(page, file);
    await page.locator("[data-verdict=proven]").waitFor();
    await drop(page, file.replace("success", "failed"));
    await page.locator("[data-verdict=not_proven]").waitFor();
    await leave(seen);
  } finally {
    await stop(server);
  }
}, 300_000);

test("an event and an attempt say where they are in the log, and give their proofs", async () => {
  const { base_url, api_key } = inject("demo");
  const headers = { Authorization: `Bearer ${api_key}` };
  const first = async (list: string): Promise<string> => {
    const { data } = await (await fetch(`${base_url}/v1/${list}`, { headers })).json();
    return data[0].id;
  };
  const event = await first("audit/events?limit=1");
  const seen = await visit(`/events?event=${event}`);
  const { page } = seen;
  const inLog = page.locator("[data-in-log=yes]").first();
  await inLog.waitFor();
  expect(await inLog.innerText()).toMatch(
    /^In the log: entry [\d,]+ · in the checkpoint of [\d,]+ entries · Download proof$/,
  );
  await expectAccessible(page);
  const downloading = page.waitForEvent("download");
  await inLog.getByRole("button", { name: "Download proof" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(`${event}.tlog-proof`);
  expect(readFileSync(await download.path(), "utf8")).toMatch(/^c2sp\.org\/tlog-proof@v1\n/);

  await page.goto(`/deliveries/${await first("deliveries?state=delivered&limit=1")}`);
  await page.locator("[data-attempt] [data-in-log=yes]").first().waitFor();
  await leave(seen);
});
