// Alert rules through the browser: found, written, tried, saved, compared, brought back and deleted.
import type { Page } from "playwright-core";
import { beforeAll, expect, inject, test } from "vitest";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  type Look,
  leave,
  picture,
  useBrowser,
  visit,
} from "./browser";
import { newcomer, newOrganization, type Organization } from "./organization";
import { until } from "./until";

useBrowser();

/** Where rules are changed; the demo is only looked at. */
let org: Organization;

beforeAll(async () => {
  org = await newOrganization("Rules");
});

const call: Organization["manage"] = (...asked) => org.manage(...asked);
const visitOwn = (path: string, look: Look = {}) => visit(path, { session: org.session, ...look });

interface Rule {
  id: string;
  name: string;
  version: number;
}

/** A rule that matches nothing. */
function makeRule(name: string, fields: Record<string, unknown> = {}): Promise<Rule> {
  const match = { event_type: ["nothing_has_this"], action: [{ prefix: "payments." }, "files.delete"] };
  return call("POST", "/v1/alert-rules", { name, match, url: inject("demo").receiver_url, ...fields });
}

/** A rule of the demo, by its name. */
async function demoRule(name: string): Promise<Rule> {
  const { base_url, api_key } = inject("demo");
  const headers = { Authorization: `Bearer ${api_key}` };
  const response = await fetch(`${base_url}/v1/alert-rules?limit=100`, { headers });
  const { data } = (await response.json()) as { data: Rule[] };
  const found = data.find((rule) => rule.name === name);
  if (found === undefined) throw new Error(`the demo has no rule ${name}`);
  return found;
}

/** Three events of a type, among the newest once this returns. */
async function sendEvents(event_type: string): Promise<void> {
  const of = (action: string, result: string, amount: number) => ({
    event_type,
    agent_id: "billing-agent",
    action,
    result,
    metadata: { amount, region: "eu" },
  });
  await org.call("POST", "/v1/audit/events", {
    events: [
      of("payments.refund", "denied", 900),
      of("mail.send", "success", 5),
      of("payments.refund", "success", 20),
    ],
  });
  await until("The events", async () => {
    const path = `/v1/audit/events?event_type=${event_type}`;
    const { data } = await call<{ data: unknown[] }>("GET", path);
    return data.length === 3 ? data : undefined;
  });
}

const tab = (page: Page, name: string) => page.getByRole("tab", { name, exact: true }).click();
const json = (page: Page) => page.getByLabel("The rule as JSON");

test("rules are listed with how they do, and can be narrowed, switched off and on", async () => {
  const demo = await visit("/rules");
  await demo.page.getByRole("row").filter({ hasText: "Large payments" }).waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "rules");
  await leave(demo);

  const rule = await makeRule("Refunds over limit", { tags: ["payments"], severity: "high" });
  const visited = await visitOwn("/rules");
  const { page } = visited;
  const row = page.getByRole("row").filter({ hasText: rule.name });
  await row.waitFor();
  const search = page.getByRole("searchbox", { name: "Search rules" });
  await search.fill("nothing like it");
  await page.getByText("No matching rules").waitFor();
  await page.getByRole("link", { name: "Show all rules" }).click();
  await expect.poll(() => search.inputValue()).toBe("");
  await search.pressSequentially("OVER lim");
  await page.waitForURL(/q=OVER\+lim/);
  await page.reload();
  await row.waitFor();
  expect(await search.inputValue()).toBe("OVER lim");
  await row.getByRole("link", { name: "#payments" }).click();
  await page.waitForURL(/tag=payments/);
  await row.getByRole("switch").press("Space");
  await row.getByText("disabled").waitFor();
  expect(await call("GET", `/v1/alert-rules/${rule.id}`)).toMatchObject({ enabled: false, version: 2 });
  await row.getByRole("switch").press("Space");
  await row.getByText("enabled", { exact: true }).waitFor();
  await leave(visited);
});

test("a rule for every event is not switched on by a click in the list, nor brought back unasked", async () => {
  const rule = await makeRule("Everything", { match: {}, enabled: false });
  const visited = await visitOwn("/rules");
  const { page } = visited;
  await page.getByRole("row").filter({ hasText: rule.name }).getByRole("switch").press("Space");
  const asked = page.getByRole("dialog", { name: "Send every event?" });
  await asked.getByRole("button", { name: "Add conditions" }).click();
  await asked.waitFor({ state: "hidden" });
  expect(await call("GET", `/v1/alert-rules/${rule.id}`)).toMatchObject({ enabled: false, version: 1 });
  await call("PATCH", `/v1/alert-rules/${rule.id}`, { enabled: true });
  await call("PATCH", `/v1/alert-rules/${rule.id}`, { match: { action: ["nothing.has.this"] } });
  await page.goto(`/rules/${rule.id}?tab=history`);
  await page.getByRole("button", { name: "Roll back to this" }).first().click();
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await asked.waitFor();
  expect(await call("GET", `/v1/alert-rules/${rule.id}`)).toMatchObject({ version: 3 });
  await leave(visited);
});

test("who has no rule yet is taught what one is and offered some to begin with", async () => {
  const visited = await visit("/rules", { session: await newcomer() });
  const { page } = visited;
  await page.locator('[data-state="empty"]').waitFor();
  await expectAccessible(page);
  await picture(page, "rules-empty");
  await page
    .getByRole("region", { name: "An agent keeps failing" })
    .getByRole("link", { name: "Use this" })
    .click();
  await page.waitForURL(/template=errors/);
  expect(await page.getByLabel("Name").inputValue()).toBe("An agent keeps failing");
  await leave(visited);
});

test("where no rule fits it is said so, and how to see all", async () => {
  const visited = await visit("/rules?tag=nobody-has-this");
  await visited.page.getByText("No matching rules").waitFor();
  await visited.page.getByRole("link", { name: "Show all rules" }).click();
  await visited.page.getByRole("table").waitFor();
  await leave(visited);
});

test("a rule is written in the form, seen in the JSON at once, tried on the newest events and saved", async () => {
  const event_type = "refund_request";
  await sendEvents(event_type);
  const visited = await visitOwn("/rules/new");
  const { page } = visited;
  await page.getByLabel("Name").fill("Denied payments");
  await page.getByLabel("Send alerts to").fill(inject("demo").receiver_url);
  const field = page.getByLabel("Add a condition on a field").first();
  await field.fill("event_type");
  await field.press("ArrowDown");
  await field.press("Enter");
  const values = page.getByRole("combobox", { name: "event_type is one of" });
  await values.fill(event_type);
  await values.press("Enter");
  await page.locator('[data-tally][data-matched="3"]').waitFor();

  await tab(page, "JSON");
  expect(JSON.parse(await json(page).inputValue())).toMatchObject({
    name: "Denied payments",
    match: { event_type: [event_type] },
  });
  await json(page).fill(
    JSON.stringify({
      name: "Denied payments",
      match: {
        event_type: [event_type],
        result: [{ "anything-but": ["success"] }],
        metadata: { amount: [{ numeric: [">=", 500] }] },
      },
      url: inject("demo").receiver_url,
    }),
  );
  await page.locator('[data-tally][data-matched="1"]').waitFor();
  await page.getByRole("group", { name: "Condition on metadata.amount" }).waitFor();

  await tab(page, "Preview");
  const [rings, not] = [page.locator('[data-matches="true"]'), page.locator('[data-matches="false"]')];
  await rings.first().getByText("payments.refund").waitFor();
  await not.first().getByRole("button").click();
  await not.first().getByText("The rule does not match", { exact: false }).waitFor();
  await expectAccessible(page);
  await picture(page, "rule-builder");

  await page.getByRole("button", { name: "Save and enable" }).click();
  await page.waitForURL(/\/rules\/rul_/);
  await page.getByRole("button", { name: "Send a test alert" }).click();
  await page.locator('[data-outcome="delivered"]').waitFor();
  await page.getByText("returned 200").waitFor();
  await expectAccessible(page);
  await picture(page, "rule-test-delivery");
  await leave(visited);
});

test("a rule begins from an event", async () => {
  const event_type = "payout_request";
  await sendEvents(event_type);
  const events = `/v1/audit/events?event_type=${event_type}&result=denied&limit=1`;
  const [event] = (await call<{ data: { id: string }[] }>("GET", events)).data;
  const visited = await visitOwn(`/rules/new?event=${event?.id}`);
  const { page } = visited;
  await page.getByText("Created from an event").waitFor();
  await page.getByRole("group", { name: "Condition on action" }).waitFor();
  expect(await page.getByLabel("Name").inputValue()).not.toBe("");
  const source = page.locator("[data-source]");
  await source.getByText("Source event").waitFor();
  expect(await source.getAttribute("data-matches")).toBe("true");
  expect(await page.locator("[data-matches]").first().getAttribute("data-source")).toBe("true");
  await page
    .locator("[data-day]")
    .getByText(/would have sent [1-9]\d* alerts? in 24 h/)
    .waitFor();
  await leave(visited);
});

test("what is wrong is said once, at its field, in words for a person", async () => {
  const visited = await visitOwn("/rules/new?template=errors");
  const { page } = visited;
  const save = page.getByRole("button", { name: "Save and enable" });
  await page.getByLabel("Name").fill("");
  await save.click();
  await page.getByText("Enter a name.").waitFor();
  await page.getByText("Enter the URL to send alerts to.").waitFor();
  expect(await page.getByLabel("Name").evaluate((input) => input === document.activeElement)).toBe(true);
  await page.getByLabel("Name").fill("x".repeat(300));
  await page.getByLabel("Send alerts to").fill(inject("demo").receiver_url);
  await page.getByLabel("Runbook").fill("ftp://example.com");
  await save.click();
  // What only the server knows is said at the field too, and nowhere else.
  const said = page.locator(".mantine-InputWrapper-error");
  await expect.poll(() => said.count()).toBe(2);
  expect((await said.allTextContents()).join(" ")).not.toContain("`");
  expect(await page.locator('[data-state="error"]').count()).toBe(0);
  expect(await page.getByLabel("Runbook").getAttribute("aria-invalid")).toBe("true");
  await expectAccessible(page);
  await picture(page, "rule-refused");
  await leave(visited);
});

test("a rule that would send every event is saved only by who means it", async () => {
  const visited = await visitOwn("/rules/new");
  const { page } = visited;
  await page.getByLabel("Name").fill("Everything");
  await page.getByLabel("Send alerts to").fill(inject("demo").receiver_url);
  await page.getByRole("button", { name: "Save and enable" }).click();
  const asked = page.getByRole("dialog", { name: "Send every event?" });
  await expectAccessible(page);
  await asked.getByRole("button", { name: "Add conditions" }).click();
  await asked.waitFor({ state: "detached" });
  expect(page.url()).toContain("/rules/new");
  await leave(visited);
});

test("what the form cannot show is kept, and it is said so", async () => {
  const rule = await makeRule("Payouts to new accounts");
  const visited = await visitOwn(`/rules/${rule.id}?tab=json`);
  const { page } = visited;
  const text = JSON.parse(await json(page).inputValue());
  await json(page).fill(JSON.stringify({ ...text, match: { ...text.match, metadata: { "a.b": ["x"] } } }));
  await page.getByText("The form cannot show this", { exact: false }).waitFor();
  await page.getByLabel("Name").fill("Renamed in the form");
  expect(JSON.parse(await json(page).inputValue())).toMatchObject({
    name: "Renamed in the form",
    match: { metadata: { "a.b": ["x"] } },
  });
  await json(page).fill("{ this is no JSON");
  await page.getByText("the form and the preview still show the previous rule", { exact: false }).waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Renamed in the form");
  await leave(visited);
});

test("a backtest says how often a rule would have rung", async () => {
  const event_type = "chargeback";
  await sendEvents(event_type);
  const rule = await makeRule("Chargebacks", {
    match: { event_type: [event_type], action: ["payments.refund"] },
  });
  const visited = await visitOwn(`/rules/${rule.id}?tab=backtest`);
  const { page } = visited;
  await page.getByRole("button", { name: "Run backtest" }).click();
  await page.locator('[data-alerts="2"]').waitFor();
  await page.getByText("Would have sent 2 alerts in 7 days").waitFor();
  await page.getByRole("img", { name: /Alerts by day/ }).waitFor();
  await leave(visited);

  const demo = await visit(`/rules/${(await demoRule("Large payments")).id}?tab=backtest`);
  await demo.page.getByRole("button", { name: "Run backtest" }).click();
  await demo.page.getByRole("img", { name: /Alerts by day/ }).waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "rule-backtest");
  await leave(demo);
});

test("who changes a rule that somebody else changed meanwhile sees the difference and chooses", async () => {
  const rule = await makeRule("Files deleted at night");
  const visited = await visitOwn(`/rules/${rule.id}`);
  const { page } = visited;
  await page.getByLabel("Description").fill("mine");
  await call("PATCH", `/v1/alert-rules/${rule.id}`, { description: "theirs" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const conflict = page.locator('[data-state="conflict"]');
  await conflict.getByRole("region", { name: "Theirs and yours" }).getByText("theirs").waitFor();
  await expectAccessible(page);
  await picture(page, "rule-conflict");
  await conflict.getByRole("button", { name: "Overwrite with mine" }).click();
  await conflict.waitFor({ state: "detached" });
  await page.getByText("version 3", { exact: false }).first().waitFor();
  expect(await call("GET", `/v1/alert-rules/${rule.id}`)).toMatchObject({ description: "mine", version: 3 });
  await leave(visited);
});

test("versions are compared, and an earlier one is brought back", async () => {
  const rule = await makeRule("Refunds of a new agent", { severity: "low" });
  await call("PATCH", `/v1/alert-rules/${rule.id}`, { severity: "critical" });
  const visited = await visitOwn(`/rules/${rule.id}?tab=history`);
  const { page } = visited;
  const diff = page.getByRole("region", { name: "Version 1 and version 2" });
  await diff.getByText('"severity": "critical"').waitFor();
  await expectAccessible(page);
  await picture(page, "rule-history");
  await page.getByRole("button", { name: "Roll back to this" }).click();
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByText("Version 3", { exact: true }).first().waitFor();
  expect(await call("GET", `/v1/alert-rules/${rule.id}`)).toMatchObject({ severity: "low", version: 3 });
  await leave(visited);
});

test("a rule is deleted only after it was asked, and unsaved changes are not lost by a click", async () => {
  const rule = await makeRule("Everything at once");
  const visited = await visitOwn(`/rules/${rule.id}`);
  const { page } = visited;
  await page.getByLabel("Description").fill("not saved");
  await page.getByRole("link", { name: "Deliveries", exact: true }).click();
  await page.getByText("Leave without saving?").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("button", { name: "Undo changes" }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  const duplicate = page.getByRole("menuitem", { name: "Duplicate rule" });
  await duplicate.waitFor();
  await expectAccessible(page);
  await duplicate.click();
  await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Everything at once (copy)");
  expect(await page.getByLabel("Send alerts to").inputValue()).toBe(inject("demo").receiver_url);
  await page.getByRole("group", { name: "Condition on action" }).getByText("files.delete").waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete rule…" }).click();
  await page.getByRole("button", { name: "Delete rule", exact: true }).click();
  await page.waitForURL(/\/rules$/);
  await expect(call("GET", `/v1/alert-rules/${rule.id}`)).rejects.toThrow("404");
  await leave(visited);
});

test("a rule can be written on a phone and in the dark", async () => {
  const rule = await demoRule("Large payments");
  const phone = await visit(`/rules/${rule.id}`, { width: 375, height: 812 });
  await phone.page.getByLabel("Name").waitFor();
  await expectNoSidewaysScroll(phone.page);
  await picture(phone.page, "rule-builder-phone");
  await phone.page.goto("/rules");
  await phone.page.getByRole("link", { name: rule.name }).waitFor();
  await expectNoSidewaysScroll(phone.page);
  await leave(phone);

  const dark = await visit(`/rules/${rule.id}`, { scheme: "dark" });
  await dark.page.locator("[data-tally]").waitFor();
  await expectAccessible(dark.page);
  await picture(dark.page, "rule-builder-dark");
  await leave(dark);
});

test("a rule that is not there and a server that fails are told apart", async () => {
  const missing = await visit("/rules/rul_00000000000000000000000000");
  await missing.page.locator('[data-state="error"]').waitFor();
  await leave(missing);

  const broken = await visit("/sessions");
  await broken.page.route("**/v1/alert-rules?*", (route) =>
    route.fulfill({
      status: 429,
      headers: { "Retry-After": "2" },
      json: { detail: "Slow down.", status: 429 },
    }),
  );
  await broken.page.getByRole("link", { name: "Alert rules" }).click();
  await broken.page.locator('[data-state="rate-limited"]').getByText("Slow down.").waitFor();
  await picture(broken.page, "rules-rate-limited");
  await broken.page.unroute("**/v1/alert-rules?*");
  await broken.page.getByRole("table").waitFor();
  await leave(broken);
});
