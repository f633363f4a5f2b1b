// The explorer of decisions, with decisions of an organization of its own.
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, leave, picture, useBrowser, visit } from "./browser";
import { paste } from "./editor";
import { activate, ask, newOrganization, type Organization, POLICIES } from "./organization";

useBrowser();

let org: Organization;
let denied: string;

beforeAll(async () => {
  org = await newOrganization("Decisions");
  await activate(org, POLICIES, "Refunds and deletions");
  for (let at = 0; at < 40; at += 1) {
    await ask(org, at % 2 ? "billing-agent" : "support-triage", "tickets.close", {
      resource: `ticket:${at}`,
    });
  }
  for (let at = 0; at < 8; at += 1) {
    await ask(org, "deploy-bot", "files.delete", { resource: `file:${at}`, context: { path: `/srv/${at}` } });
  }
  await ask(org, "billing-agent", "refunds.create", { resource: "invoice:7", context: { amount: 900 } });
  denied = await ask(org, "janitor", "files.delete", { resource: "file:last" });
});

test("decisions are listed with their reasons, counted by result, and charted", async () => {
  const visited = await visit("/decisions", { session: org.session });
  const { page } = visited;
  await page
    .getByRole("option", { name: /Agents do not delete files/ })
    .first()
    .waitFor();
  await page.getByText("50 decisions").waitFor();
  await page.getByRole("img", { name: /Decisions over time by result.*denied 9/ }).waitFor();
  expect(await page.getByText("denied 9", { exact: true }).count()).toBe(1);
  // A rule for what is listed: decisions, and not every event.
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByText("every decision").waitFor();
  await leave(visited);

  const demo = await visit("/decisions");
  await demo.page.getByRole("option").first().waitFor();
  await demo.page.getByRole("img", { name: /Decisions over time by result/ }).waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "decisions");
  await leave(demo);
});

test("filters are in the address, and Back takes one away again", async () => {
  const visited = await visit("/decisions", { session: org.session });
  const { page } = visited;
  await page.getByRole("option").first().waitFor();
  await page.getByRole("group", { name: "Result" }).getByText("denied").click();
  await page.waitForURL(/result=denied/);
  await page.getByText("9 decisions").waitFor();
  await page
    .getByRole("combobox", { name: "Agent" })
    .or(page.getByLabel("Agent", { exact: true }))
    .first()
    .click();
  const janitor = page.getByRole("option", { name: /janitor \(1\)/ });
  await janitor.waitFor();
  await expectAccessible(page);
  await janitor.click();
  await page.waitForURL(/agent_id=janitor/);
  await page.getByText("1 decision", { exact: true }).waitFor();
  await page.goBack();
  await page.getByText("9 decisions").waitFor();
  await leave(visited);
});

test("a decision opens by its id with question, answer and policies, and closes with Escape", async () => {
  const visited = await visit(`/decisions?decision=${denied}`, { session: org.session });
  const { page } = visited;
  const panel = page.getByRole("dialog", { name: "Decision" });
  await panel.getByText("Agents do not delete files.").waitFor();
  await panel.getByText("Agent:janitor").waitFor();
  await panel.getByText("no-deletions").waitFor();
  await panel.getByText("file:last").waitFor();
  await expectAccessible(page);
  await picture(page, "decisions-one");
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => !url.search.includes("decision="));
  await leave(visited);
});

test("j and k walk through the list while the panel follows", async () => {
  const visited = await visit(`/decisions?decision=${denied}`, { session: org.session });
  const { page } = visited;
  await page.getByRole("dialog", { name: "Decision" }).getByText("Agent:janitor").waitFor();
  await page.getByRole("listbox", { name: "Decisions, newest first" }).focus();
  await page.keyboard.press("j");
  await page.getByRole("dialog", { name: "Decision" }).getByText("invoice:7").waitFor();
  await page.keyboard.press("k");
  await page.getByRole("dialog", { name: "Decision" }).getByText("Agent:janitor").waitFor();
  await leave(visited);
});

test("a question asked again with other policies shows how the answer differs", async () => {
  const visited = await visit(`/decisions?decision=${denied}&tab=again`, { session: org.session });
  const { page } = visited;
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  const compared = page.getByTestId("compared");
  await compared.getByText("Same answer").waitFor();
  await page
    .getByRole("combobox", { name: "Evaluate against" })
    .or(page.getByLabel("Evaluate against", { exact: true }))
    .first()
    .click();
  await page.getByRole("option", { name: "Edited policies (not saved)" }).click();
  const policies = page.getByRole("textbox", { name: "Policies" });
  await expect.poll(() => policies.innerText()).toContain("no-deletions");
  await paste(policies, '@id("allow-all")\npermit (principal, action, resource);');
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await compared.getByText("Different answer").waitFor();
  await compared.getByText("allow-all").waitFor();
  await expectAccessible(page);
  await compared.scrollIntoViewIfNeeded();
  await picture(page, "decisions-ask-again");
  await leave(visited);
});

test("a long list of the demo is walked to its end without drawing all of it", async () => {
  const visited = await visit("/decisions?last=30d");
  const { page } = visited;
  await page.getByRole("option").first().waitFor();
  const list = page.getByRole("listbox", { name: "Decisions, newest first" });
  expect(await page.getByRole("option").count()).toBeLessThan(80);
  const furthest = async () => {
    await list.evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }));
    return Number(await page.getByRole("option").last().getAttribute("aria-posinset"));
  };
  // Beyond the first page.
  await expect.poll(furthest, { timeout: 20_000 }).toBeGreaterThan(200);
  expect(await page.getByRole("option").count()).toBeLessThan(80);
  await leave(visited);
});
