// Keys, members, sessions and the security log: what admins and owners look after.
import { expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization, register } from "./organization";
import { login } from "./server";
import { expectEveryState } from "./states";

useBrowser();

async function sendWith(key: string): Promise<number> {
  const event = { event_type: "tool_call", agent_id: "a", action: "files.read", result: "success" };
  const response = await fetch(`${inject("demo").base_url}/v1/audit/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(event),
  });
  return response.status;
}

test("a key is made, shown once, works, is rotated with an overlap, and is revoked", async () => {
  const { session } = await newOrganization("Keys");
  const seen = await visit("/keys", { session });
  const { page } = seen;
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("billing agent");
  await dialog.getByRole("button", { name: "Only send events" }).click();
  await dialog.getByLabel("Expires").selectOption("In 90 days");
  await expectAccessible(page);
  await picture(page, "keys-new");
  await dialog.getByRole("button", { name: "Create key" }).click();

  const shown = dialog.getByRole("region", { name: "API key" });
  const key = (await shown.textContent()) ?? "";
  expect(await sendWith(key)).toBe(202);
  // Neither Escape nor a click beside it loses the key.
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 5);
  await shown.waitFor();
  await dialog.getByRole("button", { name: "Copy API key" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
  await expectAccessible(page);
  await picture(page, "keys-made");
  await dialog.getByLabel("I have copied the API key").check();
  await dialog.getByRole("button", { name: "Close" }).click();
  expect(await page.content()).not.toContain(key);

  const row = page.locator("[data-key]", { hasText: "billing agent" });
  await row.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByText("The old key keeps working for a while").waitFor();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Rotate key" }).click();
  const next = (await dialog.getByRole("region", { name: "API key" }).textContent()) ?? "";
  await dialog.getByLabel("I have copied the API key").check();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.locator('[data-key-state="replaced"]').waitFor();
  expect([await sendWith(key), await sendWith(next)]).toEqual([202, 202]);

  await page.locator('[data-key-state="replaced"]').getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog", { name: "Revoke “billing agent”?" }).waitFor();
  await page.goBack();
  await dialog.waitFor({ state: "detached" });
  await page.goForward();
  await dialog.getByRole("button", { name: "Revoke key" }).click();
  await page.locator('[data-key-state="replaced"]').waitFor({ state: "detached" });
  await expect.poll(() => sendWith(key)).toBe(401);
  expect(await sendWith(next)).toBe(202);
  await page.getByLabel("Show expired and revoked keys").check();
  await page.locator('[data-key-state="revoked"]').waitFor();
  expect(page.url()).toContain("show=all");
  await expectAccessible(page);
  await leave(seen);
});

test("a name that the server refuses is refused at its field", async () => {
  const { session } = await newOrganization("Long names");
  const seen = await visit("/keys?new=key", { session });
  const { page } = seen;
  await page.getByRole("dialog").getByLabel("Name").fill("x".repeat(200));
  await page.getByRole("button", { name: "Create key" }).click();
  await page.locator(".mantine-TextInput-error").waitFor();
  await leave(seen);
});

test("somebody is invited by a link, gets another role and is removed; the organization is renamed", async () => {
  const { session } = await newOrganization("Members");
  const seen = await visit("/members", { session });
  const { page } = seen;
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Name").fill("Members and friends");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByText("now called “Members and friends”").waitFor();
  await page.getByRole("banner").getByText("Members and friends").waitFor();

  const email = `bob-${Date.now()}@example.com`;
  await page.getByRole("button", { name: "Invite member" }).click();
  await dialog.getByLabel("Email address").fill(email);
  await dialog.getByLabel("admin").check();
  await expectAccessible(page);
  await picture(page, "members-invite");
  await dialog.getByRole("button", { name: "Invite", exact: true }).click();
  const link = (await dialog.getByRole("region", { name: "link" }).textContent()) ?? "";
  await dialog.getByLabel("I have copied the link").check();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("table", { name: "Invitations" }).getByText(email).waitFor();
  const token = new URL(link).hash.replace("#token=", "");
  const joined = await fetch(`${inject("demo").base_url}/v1/auth/accept-invitation`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token, password: "a password of his own" }),
  });
  expect(joined.status).toBe(204);

  await page.reload();
  const member = page.locator(`[data-member="${email}"]`);
  await member.getByText("admin").waitFor();
  await expectAccessible(page);
  await member.getByRole("button", { name: "Change role" }).click();
  await dialog.getByLabel("viewer").check();
  await dialog.getByRole("button", { name: "Change role" }).click();
  await member.getByText("viewer").waitFor();
  await member.getByRole("button", { name: "Remove" }).click();
  await dialog.getByText("This account has no active API keys").waitFor();
  await expectAccessible(page);
  await picture(page, "members-remove");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await member.waitFor({ state: "detached" });

  // The last owner cannot leave, and is told why.
  await page.getByRole("button", { name: "Leave" }).click();
  await dialog.getByRole("button", { name: "Leave" }).click();
  await dialog.locator("[data-state=error]").waitFor();
  await leave(seen);
});

test("one's own sessions are listed, this one marked, and another one is ended", async () => {
  const { user_email, user_password, base_url } = inject("demo");
  const login = await fetch(`${base_url}/v1/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "User-Agent": "curl/8.5.0" },
    body: JSON.stringify({ email: user_email, password: user_password }),
  });
  expect(login.status).toBe(200);
  const seen = await visit("/sessions");
  const { page } = seen;
  await page.locator('[data-current="true"]').waitFor();
  expect(await page.locator('[data-current="true"]').count()).toBe(1);
  await expectAccessible(page);
  const other = page.locator("tr", { hasText: "curl" }).first();
  const before = await page.locator("tr", { hasText: "curl" }).count();
  await other.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await expect.poll(() => page.locator("tr", { hasText: "curl" }).count()).toBe(before - 1);
  await leave(seen);
});

test("one changes one's own password, and stays signed in here alone", async () => {
  const { base_url } = inject("demo");
  const { email, password, session } = await register("Careful");
  const other = await login(base_url, email, password);
  const seen = await visit("/sessions", { session });
  const { page } = seen;
  await expect.poll(() => page.locator("[data-current]").count()).toBe(2);
  await page.getByLabel(/^Current password/).fill("a guess of somebody else");
  await page.getByLabel(/^New password/).fill("a new and better password");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("is not your current password").waitFor();
  await expectAccessible(page);
  await page.getByLabel(/^Current password/).fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
  await expect.poll(() => page.locator("[data-current]").count()).toBe(1);
  const me = await fetch(`${base_url}/v1/me`, { headers: { Cookie: `${other.name}=${other.value}` } });
  expect(me.status).toBe(401);
  await leave(seen);
});

test("an owner has the organization deleted, every screen says when, and it is kept after all", async () => {
  const { password, session } = await register("Ending");
  const seen = await visit("/members", { session });
  const { page } = seen;
  await page.getByRole("button", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete “Ending”?" });
  await dialog.getByRole("button", { name: "Schedule deletion" }).click();
  await dialog.getByText("Enter “Ending”.").waitFor();
  await dialog.getByLabel(/^Organization name/).fill("Ending");
  await dialog.getByLabel(/^Your password/).fill("a guess of somebody else");
  await dialog.getByRole("button", { name: "Schedule deletion" }).click();
  await dialog.getByText("is not your current password").waitFor();
  await expectAccessible(page);
  await dialog.getByLabel(/^Your password/).fill(password);
  await dialog.getByRole("button", { name: "Schedule deletion" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("Deletion is already scheduled").waitFor();

  await page.goto("/keys");
  const banner = page.locator("[data-deletion]");
  await banner.getByText("This organization is scheduled for deletion").waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 375, height: 800 });
  await expectNoSidewaysScroll(page);
  await banner.getByRole("button", { name: "Keep the organization" }).click();
  await banner.waitFor({ state: "detached" });
  await page.goto("/members");
  await page.getByRole("button", { name: "Delete…" }).waitFor();
  await leave(seen);
});

test("the security log tells who did what, by kind and person, and opens by keyboard", async () => {
  const { session, manage } = await newOrganization("Log");
  const rule = { name: "Watched", match: { result: ["denied"] }, url: inject("demo").receiver_url };
  await manage("POST", "/v1/alert-rules", rule);
  const seen = await visit("/security-log", { session });
  const { page } = seen;
  const list = page.getByRole("listbox", { name: "Security log" });
  await expect
    .poll(async () => {
      await page.reload();
      await page.locator("[role=listbox], [data-state=empty]").first().waitFor();
      return await list.getByText("created the alert rule “Watched”").count();
    })
    .toBe(1);
  await expectAccessible(page);
  await list.focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Event details" }).getByText('"event_type"').waitFor();
  expect(page.url()).toContain("event=evt_");
  await expectAccessible(page);
  await picture(page, "security-log-open");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByLabel("Kind").selectOption("Exports");
  await page.locator("[data-state=empty]").waitFor();
  await picture(page, "security-log-empty");
  await page.getByRole("button", { name: "Show everything" }).click();
  await list.waitFor();
  await leave(seen);
});

test("an organization without keys is told what keys are for", async () => {
  const seen = await visit("/forgot-password");
  const { page } = seen;
  await page.route("**/v1/api-keys?*", (route) => route.fulfill({ json: { data: [], next_cursor: null } }));
  await page.goto("/keys");
  await page.locator("[data-state=empty]").getByText("No keys yet").waitFor();
  await expectAccessible(page);
  await picture(page, "keys-empty");
  await leave(seen);
});

test.each([
  ["/keys", "**/v1/api-keys?*", '[aria-label="API keys"]'],
  ["/security-log", "**/v1/audit/events?*", "[role=listbox], [data-state=empty]"],
])("%s waits, fails and heals where one can see it", expectEveryState);

test.each(["keys", "members", "sessions", "security-log"])(
  "%s is readable on a desk, and on a phone in the dark",
  async (screen) => {
    const seen = await visit(`/${screen}`);
    const { page } = seen;
    await page.locator("table, [role=listbox]").first().waitFor();
    await expectAccessible(page);
    await picture(page, screen);
    await page.setViewportSize({ width: 375, height: 800 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator("[data-mantine-color-scheme=dark] body").waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    await picture(page, `${screen}-phone`);
    await leave(seen);
  },
);
