// The states of a screen that a healthy server does not give, each looked at as a person would.
import { expect } from "vitest";
import { expectAccessible, leave, visit } from "./browser";
import { DOWN, refuse } from "./trail";

/**
 * Looks at a screen that waits, that is refused and that asks too often, and sees it heal. `api` is what it asks;
 * `healed` is there when it has its answer.
 */
export async function expectEveryState(screen: string, api: string, healed: string): Promise<void> {
  // Any other page, so that what the screen asks can be answered before it asks.
  const seen = await visit("/forgot-password");
  const { page } = seen;

  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  await page.route(api, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(screen);
  await page.locator("[data-state=loading]").first().waitFor();
  release();
  await page.locator(healed).first().waitFor();
  await page.unrouteAll({ behavior: "wait" });

  await refuse(page, api, 503);
  await page.goto(screen);
  await page.locator("[data-state=error]").first().getByText(DOWN).waitFor();
  await expectAccessible(page);
  await page.unrouteAll({ behavior: "wait" });
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.locator(healed).first().waitFor();
  expect(await page.locator("[data-state=error]").count()).toBe(0);

  await refuse(page, api, 429, 2);
  await page.goto(screen);
  await page.locator("[data-state=rate-limited]").first().waitFor();
  await page.unrouteAll({ behavior: "wait" });
  // It asks again by itself, without anybody pressing anything.
  await page.locator(healed).first().waitFor();

  // A refused request is what this was about; that the browser notes one is no trouble.
  seen.troubles.splice(
    0,
    seen.troubles.length,
    ...seen.troubles.filter((one) => !one.includes("status of 503")),
  );
  await leave(seen);
}
