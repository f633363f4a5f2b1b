// Why something was denied, held or did not arrive: one chain from the event to the receiver's answer.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { activate, ask, newOrganization, type Organization, POLICIES } from "./organization";
import { send } from "./trail";
import { until } from "./until";

useBrowser();

let org: Organization;
let version: number;
/** The tool call that the guard denied, its decision, and the alert that nobody took. */
let denied: string;
let decision: string;
let delivery: string;
let receiver: Server;

beforeAll(async () => {
  receiver = createServer((_, response) => response.writeHead(413).end("too much"));
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
  org = await newOrganization("Why");
  version = await activate(org, POLICIES, "Refunds and deletions");
  await org.manage("POST", "/v1/alert-rules", {
    name: "Denied deletions",
    match: { action: ["files.delete"], result: ["denied"], event_type: ["tool_call"] },
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  });
  decision = await ask(org, "janitor", "files.delete", { resource: "file:1" });
  const call = { agent_id: "janitor", action: "files.delete", result: "denied", decision_id: decision };
  [denied = ""] = await send(org, [call]);
  delivery = await until("The alert fails", async () => {
    const path = `/v1/deliveries?event_id=${denied}&state=failed`;
    const { data } = await org.manage<{ data: { id: string }[] }>("GET", path);
    return data[0]?.id;
  });
});
afterAll(() => receiver.close());

const visitOwn = (path: string, look = {}) => visit(path, { session: org.session, ...look });
const link = (chain: Locator, name: string) => chain.locator(`[data-link="${name}"]`);

test("a denied call says why at its head, and the policy opens at the clause with its lines marked", async () => {
  const visited = await visitOwn(`/events?event=${denied}`);
  const { page } = visited;
  const panel = page.getByRole("complementary", { name: "Event" });
  const reason = panel.getByTestId("reason");
  await reason.getByText("Agents do not delete files.").waitFor();
  await reason.getByRole("link", { name: "no-deletions" }).click();
  await page.waitForURL(new RegExp(`/policies/versions/${version}\\?policy=no-deletions`));
  await page.getByText("no-deletions, lines 4–6.").waitFor();
  const marked = await page.locator("mark").allInnerTexts();
  expect(marked.map((line) => line.trim())).toEqual([
    '@id("no-deletions")',
    '@reason("Agents do not delete files.")',
    'forbid (principal, action == Action::"files.delete", resource);',
  ]);
  await expectAccessible(page);
  await picture(page, "policy-clause");
  await page.getByRole("link", { name: "Remove highlight" }).click();
  await page.getByRole("textbox", { name: "Policies, in Cedar" }).waitFor();
  await leave(visited);
});

test("the chain leads from the call to what the receiver answered", async () => {
  const visited = await visitOwn(`/events?event=${denied}`);
  const { page } = visited;
  const panel = page.getByRole("complementary", { name: "Event" });
  await panel.getByRole("button", { name: "Why?" }).click();
  await page.waitForURL(/why=1/);
  const chain = panel.getByRole("list", { name: "Why" });
  await link(chain, "Decision").getByText("Agents do not delete files.").waitFor();
  await link(chain, "Policy").getByText(`, lines 4–6 of version ${version}`).waitFor();
  await link(chain, "Approval").getByText("No approval was asked for.").waitFor();
  await link(chain, "Rule").getByRole("button", { name: "Show conditions" }).click();
  await link(chain, "Rule").getByText("The rule matches.").waitFor();
  expect(await link(chain, "Rule").getByRole("img", { name: "matches" }).count()).toBe(3);
  await link(chain, "Delivery").getByText("failed").waitFor();
  await link(chain, "Attempts").getByText("1 attempt").waitFor();
  await link(chain, "Response")
    .getByText(/^413 after .*“too much”/)
    .waitFor();
  await expectAccessible(page);
  await picture(page, "why");
  const names = await chain.getByRole("listitem").locator("p:first-child").allInnerTexts();
  expect(names).toEqual([
    "Event",
    "Decision",
    "Policy",
    "Approval",
    "Rule",
    "Delivery",
    "Attempts",
    "Response",
  ]);
  await link(chain, "Delivery").getByRole("link").click();
  await page.waitForURL(new RegExp(`/deliveries/${delivery}`));
  // The same chain explains the delivery.
  const own = page.getByRole("list", { name: "Why" });
  await link(own, "Policy").getByRole("region", { name: "Policy no-deletions" }).waitFor();
  await link(own, "Response").getByText(/413/).waitFor();
  await expectAccessible(page);
  await leave(visited);
});

test("what is missing says so", async () => {
  const [plain] = await send(org, [{ result: "denied", action: "mail.send" }]);
  const visited = await visitOwn(`/events?event=${plain}&why=1`);
  const { page } = visited;
  await page
    .getByTestId("reason")
    .getByText(/isn't linked to a decision/)
    .waitFor();
  const chain = page.getByRole("list", { name: "Why" });
  await link(chain, "Decision").getByText("No linked decision.").waitFor();
  await link(chain, "Alert").getByText("No rule has raised an alert for this event yet.").waitFor();
  // Anybody can name any decision; it explains only what it is about.
  const [other] = await send(org, [{ result: "denied", action: "mail.send", decision_id: decision }]);
  await page.goto(`/events?event=${other}&why=1`);
  await link(chain, "Decision")
    .getByText(/a different agent or action/)
    .waitFor();
  expect(await link(chain, "Policy").count()).toBe(0);
  await leave(visited);
});

test("an escalated decision tells who answered, on a phone too", async () => {
  const escalated = await ask(org, "billing-agent", "refunds.create", { context: { amount: 900 } });
  const path = `/v1/runtime/decisions/${escalated}/resolve`;
  await org.manage("POST", path, { approve: false, note: "Ask finance." });
  const last = POLICIES.trimEnd().split("\n").length;
  const look = { width: 390, height: 844, scheme: "dark" };
  const visited = await visitOwn(`/decisions?decision=${escalated}&tab=why`, look);
  const { page } = visited;
  const chain = page.getByRole("list", { name: "Why" });
  await link(chain, "Policy").getByText(`lines 8–${last}`).waitFor();
  await link(chain, "Approval").getByText(`Denied by ${org.email}`).waitFor();
  await link(chain, "Approval").getByText("“Ask finance.”").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await picture(page, "phone/why", "small");
  await leave(visited);
});

test("people and keys have names, with the ID on hover, and nobody can borrow one", async () => {
  const me = await org.manage<{ user: { id: string } }>("GET", "/v1/me");
  await send(org, [{ agent_id: me.user.id, action: "names.borrow" }]);
  const visited = await visitOwn("/events");
  const { page } = visited;
  const mine = page.getByRole("option").filter({ hasText: "api_key.create" });
  await mine.getByText(org.email).waitFor();
  expect(await mine.getByText(org.email).getAttribute("title")).toBe(me.user.id);
  const borrowed = page.getByRole("option").filter({ hasText: "names.borrow" });
  expect(await borrowed.innerText()).not.toContain(org.email);
  await borrowed.click();
  const panel = page.getByRole("complementary", { name: "Event" });
  await panel.getByText("Sent with API key “tests”").waitFor();
  await leave(visited);
});
