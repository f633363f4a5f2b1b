// The overview: four numbers, and what needs somebody.
import { expect, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization } from "./organization";
import { refuse, send } from "./trail";

useBrowser();

const TILES = ["Current event rate", "Delivery success", "Oldest undelivered", "Decision time, p99"];

test("four numbers, each judged in words, over time, and linked to its list", async () => {
  const seen = await visit("/");
  const { page } = seen;
  for (const name of TILES) {
    const tile = page.getByRole("region", { name });
    await tile.waitFor();
    await tile.getByRole("img").waitFor();
    expect(await tile.getByRole("link").count()).toBeGreaterThan(0);
  }
  expect(await page.locator("[data-grade]").count()).toBe(4);
  await page.getByRole("region", { name: "Needs attention" }).waitFor();
  await picture(page, "overview");
  await expectAccessible(page);
  await page.getByText("7d", { exact: true }).click();
  await page.waitForURL(/last=7d/);
  await page.getByRole("region", { name: TILES[0] }).getByRole("link", { name: "Events" }).click();
  await page.waitForURL(/\/events\?last=7d/);
  await leave(seen);
});

test("an event that has just arrived is seen in its number", async () => {
  const own = await newOrganization("Arriving");
  await send(own, [{ action: "overview.seen" }]);
  const seen = await visit("/", { session: own.session });
  await seen.page.getByRole("region", { name: TILES[0] }).getByText("Arriving").waitFor();
  await leave(seen);
});

test("a new organization is shown where to begin", async () => {
  const seen = await visit("/exports");
  const { page } = seen;
  await page.route("**/v1/overview?*", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, events: { total: 0, last_at: null, buckets: [] } } });
  });
  await page.goto("/");
  await page.locator("[data-state=empty]").waitFor();
  await picture(page, "overview-empty");
  expect(await page.getByRole("link", { name: "Connect your first agent" }).getAttribute("href")).toBe(
    "/setup",
  );
  await expectAccessible(page);
  await leave(seen);
});

test("too many requests are waited for", async () => {
  const seen = await visit("/exports");
  await refuse(seen.page, "**/v1/overview?*", 429);
  await seen.page.goto("/");
  await seen.page.locator("[data-state=rate-limited]").waitFor();
  await picture(seen.page, "overview-rate-limited");
  await leave(seen);
});

test("a phone has it all, in the dark too", async () => {
  const seen = await visit("/", { width: 375, height: 760, scheme: "dark" });
  const { page } = seen;
  await page.getByRole("region", { name: "Decision time, p99" }).getByRole("img").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await picture(page, "overview-phone");
  await leave(seen);
});
