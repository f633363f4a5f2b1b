// The system page: for operators, and what others see in its place.
import { expect, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization } from "./organization";
import { expectEveryState } from "./states";

useBrowser();

test("an operator sees what the server needs, how far behind it is, and what it keeps", async () => {
  const seen = await visit("/system");
  const { page } = seen;
  for (const name of ["postgres", "journal", "redis"]) {
    await page.locator(`[data-dependency="${name}"][data-up="true"]`).waitFor();
  }
  await page.locator("[data-log=events]").waitFor();
  await page.getByText("all applied", { exact: true }).waitFor();
  await page.getByRole("table", { name: "Events by day" }).waitFor();
  await expectAccessible(page);
  await picture(page, "system");
  const asked = page.waitForResponse("**/v1/system");
  expect((await asked).status(), "it looks again by itself").toBe(200);
  await leave(seen);
});

test("what is wrong is told with the command that mends it", async () => {
  const seen = await visit("/forgot-password");
  const { page } = seen;
  await page.route("**/v1/system", async (route) => {
    const now = await (await route.fetch()).json();
    const [first, ...others] = now.dependencies;
    const letter = {
      number: 7,
      at: new Date().toISOString(),
      log: "events",
      reason: "The record is not JSON.",
    };
    await route.fulfill({
      json: {
        ...now,
        dependencies: [
          { ...first, up: false, took_ms: null, detail: "no answer within a second" },
          ...others,
        ],
        logs: now.logs.map((log: object, place: number) => ({ ...log, behind: place === 0 ? 340 : 0 })),
        dead_letters: { count: 1, newest: [letter] },
        pending_migrations: 2,
      },
    });
  });
  await page.goto("/system");
  await page.locator('[data-up="false"]').getByText("down").waitFor();
  await page.getByText("watchbell dead-letters redrive --all").waitFor();
  await page.getByText("2 migrations are").waitFor();
  await page.getByText("340 messages are waiting to be applied").waitFor();
  await page.getByText("Partition 0: 340").waitFor();
  await expectAccessible(page);
  await picture(page, "system-trouble");
  await page.unrouteAll({ behavior: "wait" });
  await leave(seen);
});

test("who is no operator is told which setting makes one, and has no such place in the menu", async () => {
  const { session } = await newOrganization("No operators");
  const seen = await visit("/system", { session });
  const { page } = seen;
  await page.getByText("Only operators can view this page").waitFor();
  await page.getByText("operators = [").waitFor();
  expect(await page.getByRole("navigation", { name: "Main" }).getByText("System").count()).toBe(0);
  await expectAccessible(page);
  await picture(page, "system-refused");
  await leave(seen);
});

test("the system page waits, fails and heals where one can see it", async () => {
  await expectEveryState("/system", "**/v1/system", "[data-dependency]");
});

test("the system page fits a phone, in the dark too", async () => {
  const seen = await visit("/system", { width: 375, height: 800, scheme: "dark" });
  await seen.page.locator("[data-dependency]").first().waitFor();
  await expectNoSidewaysScroll(seen.page);
  await expectAccessible(seen.page);
  await picture(seen.page, "system-phone");
  await leave(seen);
});
