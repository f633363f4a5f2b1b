// From nothing to a verified webhook without leaving the browser.
import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization } from "./organization";
import { expectEveryState } from "./states";

useBrowser();

const done = (page: Page, step: number) => page.locator(`[data-step="${step}"][data-done="true"]`);

async function makeKey(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Create key" }).click();
  await done(page, 1).waitFor();
  return (await page.getByRole("region", { name: "API key" }).textContent()) ?? "";
}

test("somebody registers and sees their first webhook verified, without leaving the browser", async () => {
  const seen = await visit("/register", { session: null });
  const { page } = seen;
  await page.getByText("This server does not send email").waitFor();
  await picture(page, "register");
  await page.getByLabel("Organization").fill("Acme");
  await page.getByLabel("Email address").fill(`ann-${Date.now()}@example.com`);
  await page.getByRole("textbox", { name: "Password" }).fill("correct horse battery");
  await page.getByRole("button", { name: "Register" }).click();

  await page.waitForURL("**/setup");
  await page.getByRole("heading", { name: "Choose a key for your agent" }).waitFor();
  await expectAccessible(page);
  await picture(page, "setup-begin");
  expect(await makeKey(page)).toMatch(/^wb_live_/);
  await page.getByText("Listening. Send an event with this key and it will appear here.").waitFor();

  await page.getByRole("button", { name: "Send a test event" }).click();
  await done(page, 3).getByText("files.delete").first().waitFor();
  await picture(page, "setup");

  await page.getByRole("button", { name: "Save rule" }).click();
  await done(page, 4).waitFor();
  await page.getByText("Waiting for its first webhook").waitFor();
  await page.getByRole("button", { name: "Send a matching event" }).click();
  const delivery = page.locator('[data-delivery-state="delivered"]');
  await delivery.getByText("the receiver returned 200").waitFor();
  await delivery.getByText("verified", { exact: true }).waitFor();
  await done(page, 5).scrollIntoViewIfNeeded();
  await expectAccessible(page);
  await picture(page, "setup-verified");

  expect(new URL(page.url()).origin).toBe(new URL(inject("console")).origin);
  await delivery.getByRole("link", { name: "View this delivery" }).click();
  await page.waitForURL("**/deliveries/dlv_*");
  await leave(seen);
});

test("the code to paste works as it is, in each language, and each event is shown as it arrives", async () => {
  const { session } = await newOrganization("Pasted code");
  const seen = await visit("/setup", { session });
  const { page } = seen;
  await makeKey(page);
  await page.getByText("Listening. Send an event with this key and it will appear here.").waitFor();
  const languages: [string, string, string[]][] = [
    ["curl", "bash", ["-c"]],
    ["Python", "python3", ["-c"]],
    ["TypeScript", "node", ["--input-type=module", "-e"]],
  ];
  for (const [language, program, how] of languages) {
    await page.getByRole("tab", { name: language }).first().click();
    const code = page.getByRole("region", { name: `code to send an event in ${language}` });
    const answer = execFileSync(program, [...how, (await code.textContent()) ?? ""]).toString();
    const id = /evt_[0-9a-z]{26}/.exec(answer)?.[0];
    expect(id, language).toBeDefined();
    await page.locator(`[data-event="${id}"]`).waitFor();
  }
  await leave(seen);
});

test("setup follows the key that was chosen, and no other agent's events", async () => {
  const org = await newOrganization("Own key");
  const other = { event_type: "tool_call", agent_id: "janitor", action: "backups.delete", result: "success" };
  await org.call("POST", "/v1/audit/events", other);
  const made = await org.manage<{ id: string; api_key: string }>("POST", "/v1/api-keys", {
    name: "my agent",
    scopes: ["events:write"],
  });
  const seen = await visit("/setup", { session: org.session });
  const { page } = seen;
  await page.getByRole("combobox", { name: "Or use an existing key" }).click();
  await page.getByRole("option", { name: /my agent/ }).click();
  await done(page, 1).waitFor();
  await page.getByText("in place of YOUR_API_KEY").waitFor();
  await page.getByText("Listening.").waitFor();
  expect(await page.locator("[data-done=true]").count()).toBe(1);
  const own = { ...other, agent_id: "mine", action: "files.delete" };
  await fetch(`${inject("console")}/v1/audit/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${made.api_key}`, "Content-Type": "application/json" },
    body: JSON.stringify(own),
  });
  await done(page, 3).getByText("mine").first().waitFor();
  await expectAccessible(page);
  await leave(seen);
});

test("a test delivery reaches the receiver too; a reload keeps the rule and forgets the key", async () => {
  const { session } = await newOrganization("Test delivery");
  const seen = await visit("/setup", { session });
  const { page } = seen;
  const key = await makeKey(page);
  await page.getByText("Listening.").waitFor();
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByRole("button", { name: "Save rule" }).click();
  await page.getByRole("button", { name: "Send a test delivery" }).click();
  await page.locator('[data-delivery-state="delivered"]').waitFor();

  await page.reload();
  await done(page, 5).waitFor();
  await done(page, 4).getByText("files.delete denied").waitFor();
  expect(await page.content()).not.toContain(key);
  await done(page, 1).getByText("The key itself can't be shown again.").waitFor();
  expect(await page.getByRole("button", { name: "Send a matching event" }).isDisabled()).toBe(true);
  await leave(seen);
});

test("what the server refuses is said at the field it is about", async () => {
  const { session } = await newOrganization("Refused rule");
  const seen = await visit("/setup", { session });
  const { page } = seen;
  await makeKey(page);
  await page.getByText("Listening.").waitFor();
  await page.getByRole("button", { name: "Send a test event" }).click();
  const url = page.getByLabel("Webhook URL");
  await url.fill("ftp://example.com/hook");
  // What is typed stays, however many events follow.
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByText("The newest since:").waitFor();
  expect(await url.inputValue()).toBe("ftp://example.com/hook");
  await page.getByRole("button", { name: "Save rule" }).click();
  await page.locator('[data-step="4"] .mantine-InputWrapper-error').waitFor();
  expect(await url.evaluate((input) => input === document.activeElement)).toBe(true);
  await leave(seen);
});

test("setup waits, fails and heals where one can see it", async () => {
  await expectEveryState("/setup", "**/v1/api-keys?*", "[data-step]");
});

test("setup fits a phone, in the dark too", async () => {
  const { session } = await newOrganization("Phone");
  const seen = await visit("/setup", { session, width: 375, height: 800, scheme: "dark" });
  const { page } = seen;
  await makeKey(page);
  await page.getByText("Listening.").waitFor();
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByRole("button", { name: "Save rule" }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await picture(page, "setup-phone");
  await leave(seen);
});
