// The jobs that people come for, done as a person does them: how many clicks and keys each takes, and that what they
// are told is true.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { useBrowser } from "./browser";
import { activate, ask, newOrganization, type Organization, POLICIES } from "./organization";
import { doJob } from "./person";
import { send, unique } from "./trail";
import { until } from "./until";

useBrowser();

const OPTION = "[role=option]";
const WITHIN = { timeout: 20_000 };

/** The demo has the numbers of a large trail; where a job is about single events, they are of this organization. */
const demo = undefined;
let own: Organization;
const run = unique("run");

beforeAll(async () => {
  own = await newOrganization("Jobs");
  await activate(own, POLICIES, "Refunds and deletions");
  const yesterday = new Date();
  yesterday.setUTCHours(-12, 0, 0, 0);
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const denied = await ask(own, "janitor", "files.delete");
  const inRun = await ask(own, "writer", "files.delete", { resource: "file:draft", session_id: run });
  const refund = (amount: number, result: string) => ({
    agent_id: "billing-agent",
    action: "refunds.create",
    resource: `invoice:${amount}`,
    result,
    metadata: { amount },
  });
  const old = { agent_id: "janitor", occurred_at: yesterday.toISOString() };
  const deletion = { action: "files.delete", result: "denied" };
  await send(own, [
    { ...deletion, ...old, resource: "file:old", decision_id: denied },
    { ...old, action: "files.read" },
    { agent_id: "writer", action: "notes.read", session_id: run, occurred_at: ago(9_000) },
    { agent_id: "writer", action: "notes.summarize", session_id: run, occurred_at: ago(6_000) },
    { ...deletion, agent_id: "writer", decision_id: inRun, session_id: run },
    refund(750, "denied"),
    refund(620, "error"),
    refund(900, "success"),
    refund(20, "denied"),
  ]);
  await listed(own, "action=refunds.create", 4);
});

/** Waits until the trail has so many of these. */
async function listed({ manage }: Organization, query: string, count: number): Promise<void> {
  await until(`${count} events with ${query}`, async () => {
    const { data } = await manage<{ data: unknown[] }>("GET", `/v1/audit/events?${query}`);
    return data.length >= count ? data : undefined;
  });
}

const result = (page: Page, name: string) =>
  page.getByRole("region", { name: "Result" }).getByRole("checkbox", { name: new RegExp(`^${name}`) });
const row = (page: Page, text: string) => page.locator(OPTION).filter({ hasText: text });

test("why was an agent denied yesterday", () =>
  doJob({ clicks: 5, keys: 0 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Events");
    await person.sees(page.locator(OPTION).first());
    await person.click(page.getByText("Custom", { exact: true }));
    await person.click(page.getByRole("button", { name: "Yesterday" }));
    await person.click(result(page, "denied"));
    await person.click(row(page, "file:old"));
    const reason = page.getByRole("complementary", { name: "Event" }).getByTestId("reason");
    await person.sees(reason.getByText("Agents do not delete files."));
    await person.sees(reason.getByRole("link", { name: "no-deletions" }));
  }));

test("how many were denied in 24 h, and was anything critical", () =>
  doJob({ clicks: 2, keys: 0 }, demo, async (person) => {
    const { page } = person;
    const counting = page.waitForRequest((request) => request.url().includes("/v1/audit/facets?"));
    await person.goTo("Events");
    const countOf = async (field: string, value: string) => {
      const label = page.getByRole("region", { name: field }).locator("label", { hasText: value });
      return (await (await person.sees(label)).innerText()).replace(value, "").trim();
    };
    const critical = await countOf("Severity", "critical");
    const facet = await countOf("Result", "denied");
    await person.click(result(page, "denied"));
    await person.sees(page.locator("[data-count]").getByText(`${facet} events`));
    // What the list has when it is read to its end.
    const { searchParams } = new URL((await counting).url());
    const from = searchParams.get("from") ?? "";
    const listed = async (query: Record<string, string>) =>
      (await countAll(new URLSearchParams({ ...query, from }))).toLocaleString("en");
    expect(facet).toBe(await listed({ result: "denied" }));
    expect(critical).toBe(await listed({ severity: "critical" }));
  }));

/** Counts events of the demo one page after the other. */
async function countAll(query: URLSearchParams): Promise<number> {
  const { base_url, api_key } = inject("demo");
  let count = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = new URLSearchParams([...query, ["limit", "1000"], ...(cursor ? [["cursor", cursor]] : [])]);
    const response = await fetch(`${base_url}/v1/audit/events?${page}`, {
      headers: { Authorization: `Bearer ${api_key}` },
    });
    const { data, next_cursor } = (await response.json()) as { data: unknown[]; next_cursor: string | null };
    count += data.length;
    cursor = next_cursor ?? null;
  }
  return count;
}

test("what did an agent do in one session, step by step", () =>
  doJob({ clicks: 3, keys: 0 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Events");
    await person.click(row(page, "notes.read"));
    await person.click(page.getByRole("link", { name: "Session timeline" }));
    await person.sees(page.getByText(/writer · 4 steps · .* · 2 denied/));
    // The decision stands before the call that it denied.
    const steps = () => page.locator(`${OPTION} .truncate`).allInnerTexts();
    await expect
      .poll(steps, WITHIN)
      .toEqual([
        expect.stringMatching(/^notes.read/),
        expect.stringMatching(/^notes.summarize/),
        expect.stringMatching(/^files.delete file:draft/),
        expect.stringMatching(/^files.delete/),
      ]);
  }));

test("which refunds over 500 did not succeed", () =>
  doJob({ clicks: 2, keys: 59 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Events");
    await person.click(page.getByRole("searchbox", { name: "Search events" }));
    await person.type("action:refunds.create -result:success metadata.amount:>500");
    await person.press("Enter");
    await person.sees(page.locator("[data-count]").getByText("2 events"));
    await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(2);
    await row(page, "invoice:750").waitFor();
    await row(page, "invoice:620").waitFor();
  }));

test("give a colleague a link that shows the same tomorrow", () =>
  doJob({ clicks: 3, keys: 0 }, demo, async (person) => {
    const { page } = person;
    await person.goTo("Events");
    await person.click(result(page, "denied"));
    await page.waitForURL(/result=denied/);
    await person.click(page.getByRole("button", { name: "Copy link" }));
    await person.sees(page.getByText("Link copied"));
    const count = page.locator("[data-count]").getByText(/^[\d,]+ events?/);
    const before = (await count.innerText()).split(" · ")[0];
    const shared = new URL(await page.evaluate(() => navigator.clipboard.readText()));
    expect(shared.searchParams.get("last")).toBeNull();
    const times = ["from", "to"].map((name) => Date.parse(shared.searchParams.get(name) ?? ""));
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(86_400_000);
    await page.goto(shared.href);
    await expect.poll(async () => (await count.innerText()).split(" · ")[0], WITHIN).toBe(before);
  }));

test("approve three refunds knowing their amounts, and take one back", async () => {
  const org = await newOrganization("Three refunds");
  await activate(org, POLICIES, "Refunds");
  const ids: string[] = [];
  for (const amount of [250, 480, 910]) {
    const more = { resource: `invoice:${amount}`, context: { amount }, payload: { to: "ada@example.com" } };
    ids.push(await ask(org, "billing-agent", "refunds.create", more));
  }
  await doJob({ clicks: 2, keys: 6 }, org, async (person) => {
    const { page } = person;
    await person.goTo("Approvals");
    const card = (amount: number) => page.getByRole("listitem").filter({ hasText: `invoice:${amount}` });
    for (const amount of [250, 480, 910]) {
      await person.sees(card(amount).getByLabel("Facts").getByText(String(amount), { exact: true }));
    }
    await person.press("j", "a", "j", "a", "j", "a");
    await person.click(card(480).getByRole("button", { name: "Undo" }));
    // waits for: the five seconds in which each can be undone.
    for (const amount of [250, 910]) await card(amount).waitFor({ state: "detached" });
    await person.sees(page.getByText("1 request is waiting"));
  });
  const decisions = ids.map((id) => org.call("GET", `/v1/runtime/decisions/${id}`));
  expect((await Promise.all(decisions)).map(({ decision }) => decision)).toEqual([
    "allow",
    "escalate",
    "allow",
  ]);
});

/** A receiver that is down at one path, and at another well again after three failures. */
let receiver: Server | undefined;
afterAll(() => receiver?.close());

async function failingReceiver(): Promise<string> {
  let failures = 3;
  const made = createServer((request, response) => {
    request.resume();
    const fails = request.url === "/down" || failures-- > 0;
    response.writeHead(fails ? 500 : 200).end();
  });
  receiver = made;
  await new Promise<void>((done) => made.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

test("is an endpoint well after it failed, and what is held", async () => {
  const org = await newOrganization("Failing endpoints");
  const url = await failingReceiver();
  for (const path of ["flaky", "down"]) {
    const match = { action: [`to.${path}`] };
    await org.manage("POST", "/v1/alert-rules", { name: `To ${path}`, match, url: `${url}/${path}` });
  }
  const events = (path: string, count: number) =>
    send(
      org,
      Array.from({ length: count }, () => ({ action: `to.${path}` })),
    );
  const held = async () => {
    const path = "/v1/deliveries?state=held&limit=100";
    return (await org.manage<{ data: unknown[] }>("GET", path)).data.length;
  };
  await events("flaky", 3);
  // Ten failures open the breaker; what comes then is held.
  await events("down", 12);
  await until("The breaker opens", async () => {
    const { data } = await org.manage<{ data: { breaker?: unknown }[] }>("GET", "/v1/endpoints");
    return data.find(({ breaker }) => breaker);
  });
  await events("down", 3);
  await events("flaky", 2);
  await until("Some are held and some delivered", async () => {
    const { data } = await org.manage<{ data: unknown[] }>("GET", "/v1/deliveries?state=delivered");
    return data.length >= 2 && (await held()) > 0 ? data : undefined;
  });
  await doJob({ clicks: 2, keys: 0 }, org, async (person) => {
    const { page } = person;
    const tile = page.getByRole("region", { name: "Delivery success" });
    const note = await person.sees(tile.getByText(/[1-9]\d* held/));
    const said = Number(/(\d+) held/.exec(await note.innerText())?.[1]);
    await person.goTo("Endpoints");
    await person.click(page.getByRole("link", { name: `${url}/flaky` }));
    await person.sees(
      page.locator('[data-health="unstable"]').getByText(/3 attempts failed in the last hour/),
    );
    // More are held as their retries come due.
    await expect.poll(held, WITHIN).toBeGreaterThanOrEqual(said);
  });
});

test("make a rule from an event, and see how often it would have alerted", () =>
  doJob({ clicks: 3, keys: 0 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Events");
    await person.click(row(page, "invoice:750"));
    await person.click(page.getByRole("link", { name: "Create rule" }));
    // Two refunds were denied, of whatever amount.
    await person.sees(page.locator('[data-day="2"]').getByText("would have sent 2 alerts in 24 h"));
    expect(await page.locator("[data-matches]").first().getAttribute("data-source")).toBe("true");
  }));

test("from a key to the first verified webhook, beside agents that work already", async () => {
  const org = await newOrganization("Second agent");
  await send(org, [{ agent_id: "janitor", action: "backups.delete" }]);
  await listed(org, "action=backups.delete", 1);
  await doJob({ clicks: 5, keys: 0 }, org, async (person) => {
    const { page } = person;
    await person.goTo("Setup");
    await person.click(page.getByRole("button", { name: "Create key" }));
    await person.sees(page.getByText("Listening. Send an event with this key and it will appear here."));
    // Nothing of somebody else's agent is taken for one's own.
    expect(await page.locator("[data-done=true]").count()).toBe(1);
    await person.click(page.getByRole("button", { name: "Send a test event" }));
    await person.click(page.getByRole("button", { name: "Save rule" }));
    await person.click(page.getByRole("button", { name: "Send a matching event" }));
    const delivery = page.locator('[data-delivery-state="delivered"]');
    await person.sees(delivery.getByText("verified", { exact: true }));
  });
});

test("roll a policy back, and undo that", async () => {
  const version = await activate(own, POLICIES.replace("<= 100", "<= 300"), "More without a person");
  await doJob({ clicks: 4, keys: 0 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Policies");
    const active = page.getByRole("region", { name: "Active version" });
    await person.click(active.getByRole("button", { name: "Roll back" }));
    await person.click(page.getByRole("dialog").getByRole("button", { name: "Roll back" }));
    await person.sees(active.getByText(`Version ${version - 1}`));
    await person.click(page.getByRole("alert").getByRole("button", { name: "Undo" }));
    await person.sees(active.getByText(`Version ${version}`));
  });
  const { active } = await own.call<{ active: { version: number } }>("GET", "/v1/policies");
  expect(active.version).toBe(version);
});

test("find the mistake in a policy", () =>
  doJob({ clicks: 3, keys: 2 }, own, async (person) => {
    const { page } = person;
    await person.goTo("Policies");
    await person.click(page.getByRole("link", { name: "New version" }));
    const editor = page.getByRole("textbox", { name: "Policies" });
    await person.click(editor);
    await expect.poll(() => editor.innerText()).toContain("allow-all");
    await person.replace(editor, POLICIES.replace("<= 100", "<="));
    await person.sees(page.getByText("cannot be saved"));
    await person.sees(page.locator('[data-mark="error"]').getByText("context.amount <= };"));
    await page.getByRole("button", { name: /^policies, line \d+/ }).waitFor();
  }));

test("go to a rule by its name, without the mouse", () =>
  doJob({ clicks: 0, keys: 7 }, demo, async (person) => {
    const { page } = person;
    await person.press("Control+k");
    await page.getByRole("textbox", { name: "Page, name or ID" }).waitFor();
    await person.type("large");
    await person.sees(page.getByRole("button", { name: "Large payments" }));
    await person.press("Enter");
    await page.waitForURL(/\/rules\/rul_/);
    await person.sees(page.getByLabel("Name"));
    expect(await page.getByLabel("Name").inputValue()).toBe("Large payments");
  }));
