// From an idea to a version in force: written, checked, tried, watched, activated and rolled back.
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, leave, picture, useBrowser, visit } from "./browser";
import { paste } from "./editor";
import { ask, newOrganization, type Organization, POLICIES } from "./organization";

useBrowser();

let org: Organization;

beforeAll(async () => {
  org = await newOrganization("Policies");
  for (let at = 0; at < 12; at += 1) {
    await ask(org, "janitor", at % 3 === 0 ? "files.delete" : "files.read", { resource: `file:${at}` });
  }
});

test("a mistake is shown at its line, a failing test with why, and a good text can be saved", async () => {
  const visited = await visit("/policies/new", { session: org.session });
  const { page } = visited;
  const policies = page.getByRole("textbox", { name: "Policies" });
  await expect.poll(() => policies.innerText()).toContain("allow-all");
  await paste(policies, '@id("a")\npermit (principal, action, resource)\nwhen { context.amount > };');
  await page.getByText("cannot be saved").waitFor();
  await page.getByRole("button", { name: "policies, line 3" }).waitFor();
  await page.locator('[data-mark="error"]').getByText("when { context.amount > };").waitFor();
  expect(await page.getByRole("button", { name: "Save version" }).isDisabled()).toBe(true);
  await expectAccessible(page);
  await picture(page, "policies-mistake");

  await page.getByRole("button", { name: "Add template" }).click();
  await page.getByRole("menuitem").first().waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await paste(policies, POLICIES);
  await page.getByRole("tab", { name: "Tests" }).click();
  const question = { agent_id: "janitor", action: "files.delete", resource: "file:a" };
  const tests = (decision: string) =>
    JSON.stringify([{ name: "a deletion", question, expect: { decision } }], null, 2);
  await paste(page.getByRole("textbox", { name: "Tests" }), tests("allow"));
  await page.getByText("expected allow, got deny by no-deletions").waitFor();
  await paste(page.getByRole("textbox", { name: "Tests" }), tests("deny"));
  await page.locator('[data-test="passed"]').waitFor();
  await page.getByText("can be saved").waitFor();

  await page.getByLabel("May agent").fill("janitor");
  await page.getByLabel("do", { exact: true }).fill("files.delete");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByTestId("answer").getByText("Decided by no-deletions (forbid).").waitFor();
  await expectAccessible(page);
  await page.getByLabel("Note").fill("Nothing is deleted");
  await page.evaluate(() => scrollTo(0, 0));
  await picture(page, "policies-editor");
  await page.getByRole("button", { name: "Save version" }).click();
  await page.waitForURL(/\/policies\/versions\/2/);
  await page.getByText("Roll out this version").waitFor();
  await expectAccessible(page);
  await leave(visited);
});

test("Tab indents, and Escape and then Tab leaves the editor", async () => {
  const visited = await visit("/policies/new", { session: org.session });
  const { page } = visited;
  const policies = page.getByRole("textbox", { name: "Policies" });
  await expect.poll(() => policies.innerText()).toContain("allow-all");
  await paste(policies, POLICIES);
  await policies.press("Control+a");
  await page.keyboard.type("a");
  await policies.press("Tab");
  expect(await policies.textContent()).toBe("a  ");
  await policies.press("Escape");
  await policies.press("Tab");
  expect(await policies.evaluate((field) => field === document.activeElement)).toBe(false);
  await leave(visited);
});

test("a backtest says what would have been denied, before the version is watched or activated", async () => {
  const visited = await visit("/policies/versions/2?tab=backtest", { session: org.session });
  const { page } = visited;
  await page.getByText(/4 of 12 decisions in the last 24 hours would change/).waitFor();
  await page.getByRole("table", { name: "Examples, newest first" }).getByText("file:9").waitFor();
  await expectAccessible(page);
  await picture(page, "policies-backtest");
  await page.getByRole("button", { name: "Put in shadow" }).click();
  const dialog = page.getByRole("dialog", { name: "Put version 2 in shadow?" });
  await dialog.getByRole("region", { name: /Policies of version 1 and version 2/ }).waitFor();
  await dialog.getByTestId("flips").waitFor();
  await dialog.getByRole("button", { name: "Put in shadow" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("It is in shadow").waitFor();
  await leave(visited);
});

test("the shadow shows where it disagrees, activating shows what changes, and rolling back undoes it", async () => {
  await ask(org, "janitor", "files.delete", { resource: "file:watched" });
  const visited = await visit("/policies", { session: org.session });
  const { page } = visited;
  await page.getByText(/1 of 1 decision since then would change/).waitFor();
  const shadow = page.getByRole("region", { name: "Shadow" });
  await shadow.getByRole("button", { name: "Activate" }).click();
  const dialog = page.getByRole("dialog", { name: "Activate version 2?" });
  await dialog.getByTestId("flips").waitFor();
  await expectAccessible(page);
  await picture(page, "policies-activate");
  await dialog.getByRole("button", { name: "Activate" }).click();
  await dialog.waitFor({ state: "detached" });
  const inForce = page.getByRole("region", { name: "Active version" });
  await inForce.getByText("Version 2").waitFor();
  await inForce.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await inForce.getByText("Version 1").waitFor();
  const now = page.getByRole("alert").filter({ hasText: "Version 1 is active." });
  await expectAccessible(page);
  await now.getByRole("button", { name: "Undo" }).click();
  await inForce.getByText("Version 2").waitFor();
  await org.call("POST", "/v1/policies/versions/1/activate", {});
  expect((await org.call<{ active: { version: number } }>("GET", "/v1/policies")).active.version).toBe(1);
  await leave(visited);

  const demo = await visit("/policies");
  await demo.page.getByText(/decisions since then/).waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "policies");
  await leave(demo);
});

test("settings of the guard are changed, and a time that cannot be is refused at its field", async () => {
  const visited = await visit("/policies", { session: org.session });
  const { page } = visited;
  const settings = page.getByRole("region", { name: "Guard settings" });
  await settings.getByLabel("Open: answer anyway").check();
  await settings.getByLabel("Time to approve").fill("60");
  await settings.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await org.call<{ settings: unknown }>("GET", "/v1/policies")).settings)
    .toEqual({
      fail_mode: "open",
      approval_timeout_s: 60,
      approval_valid_s: 300,
      shadow_mode_allowed: false,
      self_approval_allowed: false,
    });
  await leave(visited);
});

test("two versions are compared line by line", async () => {
  const visited = await visit("/policies/versions/2?tab=diff&against=1", { session: org.session });
  const { page } = visited;
  const diff = page.getByRole("region", { name: /Policies of version 1 and version 2/ });
  await diff.getByText('@id("no-deletions")').waitFor();
  await expectAccessible(page);
  await leave(visited);
});
