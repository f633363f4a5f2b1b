// What waits for a person: it comes by itself, is looked at, and is answered once.
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, leave, picture, useBrowser, visit } from "./browser";
import { activate, ask, newOrganization, type Organization, POLICIES } from "./organization";

useBrowser();

let org: Organization;

beforeAll(async () => {
  org = await newOrganization("Approvals");
  await activate(org, POLICIES, "Refunds and deletions");
});

const refund = (amount: number) =>
  ask(org, "billing-agent", "refunds.create", {
    resource: `invoice:${amount}`,
    context: { amount },
    payload: { to: "ada@example.com", amount },
  });

test("what an agent asks appears by itself, with how long there is, and is counted in the menu", async () => {
  const visited = await visit("/approvals", { session: org.session });
  const { page } = visited;
  await page.locator('[data-state="empty"]').waitFor();
  await page.locator('[data-live="open"]').waitFor();
  await refund(250);
  await refund(480);
  await page.getByText("invoice:250").waitFor();
  await page.getByText("2 requests are waiting, oldest first.").waitFor();
  const card = page.getByRole("listitem").filter({ hasText: "invoice:250" });
  await card.getByText("ada@example.com").waitFor();
  expect(await page.title()).toBe("(2) Approvals · Watchbell");
  await page
    .getByText(/denied in 14:/)
    .first()
    .waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByLabel("2 waiting").waitFor();
  await leave(visited);

  const demo = await visit("/approvals");
  await demo.page.locator('[data-live="open"]').waitFor();
  await demo.page.getByRole("listitem").first().waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "approvals");
  await leave(demo);
});

test("a request is approved after a look at what would be sent, with a note that is kept", async () => {
  const id = await refund(300);
  const visited = await visit("/approvals", { session: org.session });
  const { page } = visited;
  await page.getByRole("listitem").filter({ hasText: "invoice:300" }).getByRole("button").click();
  await page.waitForURL(new RegExp(`approval=${id}`));
  const panel = page.getByRole("dialog", { name: "Approval" });
  await panel.getByText('"ada@example.com"').waitFor();
  await panel.getByText(/can be used once within 5 min/).waitFor();
  await expectAccessible(page);
  await picture(page, "approvals-one");
  await panel.getByLabel("Note").fill("Known customer.");
  const [payload, approve] = [
    panel.getByText("Payload to be sent"),
    panel.getByRole("button", { name: "Approve" }),
  ];
  const [above, below] = [await payload.boundingBox(), await approve.boundingBox()];
  expect(above?.y).toBeLessThan(below?.y ?? 0);
  // The buttons make way for one that undoes it, and so does the focus.
  await approve.press("Enter");
  const focused = page.locator(":focus");
  await panel.getByRole("button", { name: "Undo" }).and(focused).waitFor();
  await page.keyboard.press("Enter");
  await panel.getByRole("heading", { name: "Approval" }).and(focused).waitFor();
  await approve.click();
  await panel.getByText(/Approving in [1-5] s/).waitFor();
  await page.getByRole("alert").getByRole("button", { name: "Send now" }).click();
  await panel.getByTestId("outcome").getByText("Approved").waitFor();
  await expectAccessible(page);
  await panel.getByText("“Known customer.”").waitFor();
  await page.getByRole("listitem").filter({ hasText: "invoice:300" }).waitFor({ state: "detached" });
  const decision = await org.call("GET", `/v1/runtime/decisions/${id}`);
  expect(decision.decision).toBe("allow");
  await leave(visited);
});

test("several are answered at once with keys, and taken back before they are sent", async () => {
  const triaged = await newOrganization("Triage");
  await activate(triaged, POLICIES, "Refunds");
  for (const amount of [101, 102, 103]) {
    const more = { resource: `invoice:${amount}`, context: { amount }, session_id: "run-7" };
    await ask(triaged, "billing-agent", "refunds.create", more);
  }
  const waiting = async () => {
    const page = await triaged.call<{ data: unknown[] }>("GET", "/v1/runtime/approvals");
    return page.data.length;
  };
  const visited = await visit("/approvals", { session: triaged.session });
  const { page } = visited;
  await page.getByText("3 requests are waiting").waitFor();
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "Approve 2" }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("a");
  await page.getByText("Approving 2 requests").waitFor();
  await expectAccessible(page);
  await page.keyboard.press("u");
  await page.getByText("Nothing was sent.").waitFor();
  expect(await waiting()).toBe(3);

  await page.getByLabel("Select all").check();
  await page.getByRole("button", { name: "Deny 3" }).click();
  await page.getByText("Denying 3 requests").waitFor();
  await page
    .getByRole("listitem")
    .getByRole("button", { name: "Undo" })
    .and(page.locator(":focus"))
    .waitFor();
  await page.getByRole("alert").getByRole("button", { name: "Send now" }).click();
  await page.getByText("Denied 3 requests").waitFor();
  await page.locator('[data-state="empty"]').waitFor();
  expect(await waiting()).toBe(0);
  await leave(visited);
});

test("what is answered and left alone is sent after five seconds, and keys say what they do", async () => {
  const id = await ask(org, "billing-agent", "refunds.create", {
    context: { amount: 555 },
    session_id: "run-8",
  });
  const visited = await visit(`/approvals?approval=${id}`, { session: org.session });
  const { page } = visited;
  const panel = page.getByRole("dialog", { name: "Approval" });
  await panel.getByRole("link", { name: "Session run-8" }).waitFor();
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await sheet.getByText("Approve the selected requests, or the open one").waitFor();
  await sheet.getByRole("switch", { name: "Single-key shortcuts" }).press("Space");
  await sheet.getByText("They are off.").waitFor();
  await expectAccessible(page);
  await page.reload();
  await panel.getByRole("button", { name: "Deny" }).waitFor();
  for (const key of ["d", "?"]) await page.keyboard.press(key);
  expect(await sheet.count()).toBe(0);
  await panel.getByRole("button", { name: "Deny" }).waitFor();
  await page.keyboard.press("Control+k");
  const finder = page.getByRole("textbox", { name: "Page, name or ID" });
  await finder.fill("turn on single");
  await page.keyboard.press("Enter");
  await finder.waitFor({ state: "detached" });
  await page.keyboard.press("d");
  await panel.getByText(/Denying in [1-5] s/).waitFor();
  // waits for: the five seconds in which it can be undone.
  await panel.getByTestId("outcome").getByText("Denied").waitFor();
  await leave(visited);
});

test("who is too late is told what somebody else said", async () => {
  const id = await refund(999);
  const visited = await visit(`/approvals?approval=${id}`, { session: org.session });
  const { page } = visited;
  const panel = page.getByRole("dialog", { name: "Approval" });
  await panel.getByRole("button", { name: "Approve" }).waitFor();
  // The news is kept from the page, as if both had answered at the same moment.
  await page.route("**/v1/runtime/approvals/stream", (route) => route.abort());
  await page.route(`**/v1/runtime/decisions/${id}/resolve`, async (route) => {
    await org.call("POST", `/v1/runtime/decisions/${id}/resolve`, { approve: false, note: "Ask finance." });
    await route.continue();
  });
  const approve = panel.getByRole("button", { name: "Approve" });
  await approve.click();
  await page.getByRole("button", { name: "Send now" }).click();
  await page.getByText("Too late").waitFor();
  await page.getByText(/It was denied by key_/).waitFor();
  await panel.getByTestId("outcome").getByText("Denied").waitFor();
  // The stream was kept from the page, which the browser says in its log.
  const { troubles } = visited;
  troubles.splice(0, troubles.length, ...troubles.filter((one) => !one.includes("ERR_FAILED")));
  await leave(visited);
});

test("what has ended is listed by how, with who said what", async () => {
  const visited = await visit("/approvals?status=denied", { session: org.session });
  const { page } = visited;
  await page.getByRole("option", { name: /Ask finance/ }).click();
  await page.getByTestId("outcome").getByText("Denied").waitFor();
  await page.getByText("Approved", { exact: true }).click();
  await page.waitForURL(/status=approved/);
  await page.getByRole("option", { name: /Known customer/ }).waitFor();
  await expectAccessible(page);
  await picture(page, "approvals-history");
  await leave(visited);
});

test("what nobody answers in time is denied by itself and leaves the queue", async () => {
  const visited = await visit("/approvals", { session: org.session });
  const { page } = visited;
  await page.locator('[data-live="open"]').waitFor();
  await org.call("PATCH", "/v1/policies", { approval_timeout_s: 10 });
  await refund(7_777);
  await org.call("PATCH", "/v1/policies", { approval_timeout_s: 900 });
  await page.getByText("invoice:7777").waitFor();
  // waits for: the ten seconds that the server gives at least.
  await page.getByText("invoice:7777").waitFor({ state: "detached", timeout: 20_000 });
  await leave(visited);
});
