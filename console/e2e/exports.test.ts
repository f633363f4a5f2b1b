// Taking events along: a small file at once, a large one from the background.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization } from "./organization";
import { refuse, send, unique } from "./trail";

useBrowser();

test("a small export is downloaded at once, with what was filtered by", async () => {
  const agent = unique("exported");
  const own = await newOrganization("Exports");
  await send(
    own,
    Array.from({ length: 12 }, (_, at) => ({ agent_id: agent, resource: `number-${at}` })),
  );
  const seen = await visit(`/events?agent_id=${agent}`, { session: own.session });
  const { page } = seen;
  await page.getByText("12 events", { exact: false }).first().waitFor();
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Export events" });
  await dialog.getByText(`Agent is ${agent}`).waitFor();
  await picture(page, "export-dialog");
  await expectAccessible(page);
  const downloading = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Download" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/\.ndjson$/);
  const lines = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\n");
  expect(lines.filter((line) => line.includes(agent)).length).toBe(12);
  await leave(seen);
});

test("a large export is made in the background, and its files are there when it is done", async () => {
  const seen = await visit("/events?last=30d");
  const { page } = seen;
  await page.locator("[data-count]", { hasText: /\d events/ }).waitFor();
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Export events" });
  await dialog.getByText("gzip", { exact: true }).click();
  await dialog.getByRole("button", { name: "Start export" }).click();
  await page.waitForURL(/\/exports$/);
  const job = page.locator("[data-export-state]").first();
  await job.waitFor();
  await page.locator("[data-export-state=done]").first().waitFor();
  const link = job.getByRole("link", { name: /audit-events-0001/ });
  const response = await page.request.get((await link.getAttribute("href")) ?? "");
  expect(response.status()).toBe(200);
  await picture(page, "exports");
  await expectAccessible(page);
  await leave(seen);
});

test("exports have their states, and fit a phone", async () => {
  const seen = await visit("/events", { width: 375, height: 760, scheme: "dark" });
  const { page } = seen;
  await page.route("**/v1/audit/exports?*", (route) =>
    route.fulfill({ json: { data: [], next_cursor: null } }),
  );
  await page.goto("/exports");
  await page.locator("[data-state=empty]").waitFor();
  await expectNoSidewaysScroll(page);
  await picture(page, "exports-empty");
  await page.unrouteAll();
  await page.route("**/v1/audit/exports?*", (route) =>
    route.fulfill({ json: { data: JOBS, next_cursor: null } }),
  );
  await page.goto("/exports");
  await page.getByText("42%").waitFor();
  await page.getByText("Export failed").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog", { name: "Cancel this export?" }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await picture(page, "exports-under-way");
  await expectNoSidewaysScroll(page);
  await page.unrouteAll();
  await refuse(page, "**/v1/audit/exports?*", 429);
  await page.goto("/exports");
  await page.locator("[data-state=rate-limited]").waitFor();
  await picture(page, "exports-rate-limited");
  await leave(seen);
});

const usual = {
  format: "parquet",
  compression: "zstd",
  filter: { result: ["denied"], agent_id: [] },
  asked_by: "usr_01jcq3k5m8e9ratvw2x4y6z8ab",
  files: [],
  error: null,
  created_at: "2026-11-15T12:00:00.000Z",
  finished_at: null,
  expires_at: null,
};
/** What a server that is slow and out of disk would say. */
const JOBS = [
  { ...usual, id: "exp_01jcq3k5m8e9ratvw2x4y6z8ab", state: "running", progress: 0.42, events: 41_000 },
  {
    ...usual,
    id: "exp_01jcq3k5m8e9ratvw2x4y6z8ac",
    state: "failed",
    progress: 0.1,
    events: 9_000,
    error: "The file could not be written: no space left on device.",
  },
];
