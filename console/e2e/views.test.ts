// Views: a search is saved under a name, found in the menu and by Ctrl-K, changed, shared and deleted.
import { beforeAll, expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization, type Organization } from "./organization";
import { login } from "./server";
import { send } from "./trail";

useBrowser();

const OPTION = "[role=option]";
const WITHIN = { timeout: 20_000 };

let org: Organization;
beforeAll(async () => {
  org = await newOrganization("Views");
  await send(org, [
    { action: "files.read" },
    { action: "files.delete", result: "denied" },
    { action: "files.delete", result: "denied", severity: "high" },
  ]);
});

/** A viewer of the organization, who was invited. */
async function viewer(): Promise<Organization["session"]> {
  const { base_url } = inject("demo");
  const email = `viewer-${Date.now()}@example.com`;
  const password = "a long password for tests";
  const { link } = await org.manage<{ link: string }>("POST", "/v1/invitations", { email, role: "viewer" });
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token");
  const accepted = await fetch(`${base_url}/v1/auth/accept-invitation`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, password }),
  });
  expect(accepted.status).toBe(204);
  return await login(base_url, email, password);
}

test("a search is saved under a name, opened from the menu, updated, renamed and deleted", async () => {
  const visited = await visit("/events?last=1h&event_type=tool_call&hide=severity", { session: org.session });
  const { page } = visited;
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(3);
  await page.getByRole("searchbox", { name: "Search events" }).fill("result:denied");
  await page.keyboard.press("Enter");
  await page.waitForURL(/filter=result/);
  await page.getByRole("button", { name: "Save view" }).click();
  const dialog = page.getByRole("dialog", { name: "Save view" });
  await dialog.getByLabel("Name").fill("Denied calls");
  await expectAccessible(page);
  await picture(page, "views-save");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();

  const menu = page.getByRole("navigation", { name: "Main" });
  const link = menu.getByRole("link", { name: "Denied calls" });
  await link.waitFor();
  const here = menu.locator("[aria-current=page]");
  await expect.poll(() => here.allInnerTexts(), WITHIN).toEqual(["Denied calls"]);
  await menu.getByRole("link", { name: "Events" }).click();
  await page.waitForURL((url) => url.search === "");
  await expect.poll(() => here.allInnerTexts(), WITHIN).toEqual(["Events"]);
  await link.click();
  await page.waitForURL(/\/events\?(?=.*filter=result)(?=.*last=1h)(?=.*hide=severity)/);
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(2);

  // What is looked for by now takes the place of what was saved.
  const open = page.getByRole("button", { name: "View “Denied calls”" });
  await open.click();
  const update = page.getByRole("menuitem", { name: "Update to this search" });
  expect(await update.isDisabled()).toBe(true);
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Search events" }).fill("result:denied severity:high");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(1);
  await open.click();
  await update.click();
  await page.getByText("Updated “Denied calls”.").waitFor();

  await open.click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  const renaming = page.getByRole("dialog", { name: "Rename the view “Denied calls”" });
  await renaming.getByLabel("Name").fill("Grave denials");
  await expectAccessible(page);
  await renaming.getByRole("button", { name: "Rename" }).click();
  await menu.getByRole("link", { name: "Grave denials" }).waitFor();

  await page.goto("/");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Page, name or ID").fill("grave");
  await page.getByRole("button", { name: "Grave denials Events" }).click();
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(1);
  const id = new URL(page.url()).searchParams.get("view") ?? "";
  await page.goto("/");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await menu.getByRole("link", { name: "Grave denials" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Page, name or ID").fill(id);
  await page.waitForURL(/\/events\?.*view=vie_/);

  await page.getByRole("button", { name: "View “Grave denials”" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete view" }).click();
  await page.getByText("The view “Grave denials” was deleted.").waitFor();
  await expect.poll(() => menu.getByRole("link", { name: "Grave denials" }).count(), WITHIN).toBe(0);
  await leave(visited);
});

test("an owner shares a view, which a viewer opens and cannot change; a name is there once", async () => {
  const visited = await visit("/decisions?last=7d&result=denied", { session: org.session });
  const { page } = visited;
  await page.getByRole("button", { name: "Save view" }).click();
  const dialog = page.getByRole("dialog", { name: "Save view" });
  await dialog.getByLabel("Name").fill("Denied");
  await dialog.getByLabel("Share with everyone in the organization").check();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Denied" }).waitFor();
  await page.getByRole("button", { name: "Save view" }).click();
  await dialog.getByLabel("Name").fill("Denied");
  await dialog.getByLabel("Share with everyone in the organization").check();
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.getByText("This list already has a view with this name.").waitFor();
  await leave(visited);

  const seen = await visit("/decisions", { session: await viewer() });
  const menu = seen.page.getByRole("navigation", { name: "Main" });
  await menu.getByRole("link", { name: "Denied" }).click();
  await seen.page.waitForURL(/last=7d/);
  await seen.page.getByRole("button", { name: "View “Denied”" }).click();
  await seen.page.getByText("Only admins and owners can change it.").waitFor();
  expect(await seen.page.getByRole("menuitem").count()).toBe(0);
  await seen.page.keyboard.press("Escape");
  await seen.page.getByRole("button", { name: "Save view" }).click();
  const theirs = seen.page.getByRole("dialog", { name: "Save view" });
  expect(await theirs.getByLabel("Share with everyone in the organization").isDisabled()).toBe(true);
  await theirs.getByLabel("Name").fill("Mine");
  await theirs.getByRole("button", { name: "Save", exact: true }).click();
  await menu.getByRole("link", { name: "Mine" }).waitFor();
  await leave(seen);
});

test("on a phone and in the dark, views are in the menu, the first few of many", async () => {
  for (let number = 1; number <= 7; number += 1) {
    const search = { state: ["failed"], last: ["24h"] };
    await org.manage("POST", "/v1/views", { list: "deliveries", name: `Failed ${number}`, search });
  }
  const look = { width: 390, height: 844, scheme: "dark" as const, session: org.session };
  const visited = await visit("/deliveries", look);
  const { page } = visited;
  await page.getByRole("button", { name: "Menu" }).click();
  const views = page.getByRole("link", { name: /^Failed \d$/ });
  await expect.poll(() => views.count(), WITHIN).toBe(5);
  await expectAccessible(page);
  await picture(page, "phone/views-menu", "small");
  await page.getByRole("button", { name: "Show 2 more views" }).click();
  await expect.poll(() => views.count(), WITHIN).toBe(7);
  await page.getByRole("link", { name: "Failed 7" }).click();
  await page.waitForURL(/state=failed/);
  await page.getByRole("button", { name: "View “Failed 7”" }).waitFor();
  // The one that is open is in the menu, however many come before it.
  await page.reload();
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Show 1 more view" }).waitFor();
  expect(await page.getByRole("link", { name: "Failed 7" }).getAttribute("aria-current")).toBe("page");
  await page.getByRole("button", { name: "Menu" }).click();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await leave(visited);
});
