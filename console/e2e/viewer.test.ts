// What a viewer finds: everything can be looked at, and what would change something says why it cannot.
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, inject, test } from "vitest";
import { expectAccessible, leave, picture, useBrowser, visit } from "./browser";
import { pathOf } from "./screens";
import { login } from "./server";

useBrowser();

let session: { name: string; value: string };

beforeAll(async () => {
  // The viewer whom `watchbell dev --demo` invites.
  session = await login(inject("demo").base_url, "jonas@example.com", "only for the demo");
});

/** What somebody is told who points at it, or on the screen around it. */
async function expectTold(page: Page, button: Locator): Promise<void> {
  const title = await button.getAttribute("title");
  await button.hover({ force: true });
  await expect
    .poll(async () => `${title} ${await page.locator("body").innerText()}`)
    .toMatch(/Only admins and owners can/);
}

test.each([
  { path: "/rules", button: "Create rule" },
  { path: "/rules/{alert-rules}", button: "Save" },
  { path: "/signing-secrets", button: "Stage a new secret" },
  { path: "/deliveries/{deliveries}", button: "Resend" },
  { path: "/endpoints/{endpoints}", button: "Pause" },
  { path: "/policies", button: "Activate" },
  { path: "/policies/new", button: "Save version" },
  { path: "/keys", button: "New key" },
])("on $path a viewer cannot press $button and is told why", async ({ path, button }) => {
  const visited = await visit(await pathOf({ name: button, path }), { session });
  const { page } = visited;
  const isNamed = { name: button, exact: true };
  const found = page.getByRole("button", isNamed).or(page.getByRole("link", isNamed)).first();
  await found.waitFor();
  expect(await found.isDisabled()).toBe(true);
  await expectTold(page, found);
  await expectAccessible(page);
  await leave(visited);
});

test("a viewer sees what waits for approval and cannot answer it", async () => {
  const visited = await visit("/approvals", { session });
  const { page } = visited;
  await page
    .getByRole("button", { name: /^Review/ })
    .first()
    .click();
  const panel = page.getByRole("dialog", { name: "Approval" });
  await panel.getByText("Only admins and owners can approve or deny.").waitFor();
  for (const name of ["Approve", "Deny"]) {
    expect(await panel.getByRole("button", { name, exact: true }).isDisabled()).toBe(true);
  }
  await expectAccessible(page);
  await picture(page, "approvals-viewer");
  await leave(visited);
});
