// The run of an agent on one axis: nested, to scale, with what was decided, approved and alerted.
import { beforeAll, expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { activate, ask, newOrganization, type Organization, POLICIES } from "./organization";
import { send, unique } from "./trail";
import { until } from "./until";

useBrowser();

const OPTION = "[role=option]";
const WITHIN = { timeout: 20_000 };

let org: Organization;
const session = unique("session");
const trace = unique("trace");
beforeAll(async () => {
  org = await newOrganization("Timeline");
  await activate(org, POLICIES, "Refunds and deletions");
  await org.manage("POST", "/v1/alert-rules", {
    name: "Denied deletions",
    match: { result: ["denied"], event_type: ["tool_call"] },
    url: inject("demo").receiver_url,
  });
  const end = Date.now() - 60_000;
  const step = (
    action: string,
    ago: number,
    latency_ms: number,
    span_id: string,
    parent_span_id?: string,
  ) => ({
    action,
    latency_ms,
    span_id,
    session_id: session,
    trace_id: trace,
    occurred_at: new Date(end - ago).toISOString(),
    ...(parent_span_id && { metadata: { parent_span_id } }),
  });
  await send(org, [
    step("plan.run", 0, 10_000, "root"),
    step("files.read", 5_000, 2_500, "read", "root"),
    step("cache.get", 6_000, 500, "cache", "read"),
    { ...step("files.delete", 1_000, 100, "delete", "root"), result: "denied" },
    { ...step("notes.write", -500, 10, "note"), trace_id: `${trace}-2` },
  ]);
  const escalated = await ask(org, "e2e-agent", "refunds.create", {
    session_id: session,
    trace_id: `${trace}-2`,
    context: { amount: 900 },
  });
  await org.manage("POST", `/v1/runtime/decisions/${escalated}/resolve`, { approve: true });
  // What an SDK records of a guarded call names the decision and not the session.
  await send(org, [{ action: "refunds.create", decision_id: escalated }]);
  await until("The alert is delivered", async () => {
    const { data } = await org.manage<{ data: unknown[] }>("GET", "/v1/deliveries?state=delivered");
    return data[0];
  });
});

test("a session is shown step by step, nested by span and to scale, with approvals and alerts inline", async () => {
  const visited = await visit(`/timeline?session_id=${session}`, { session: org.session });
  const { page } = visited;
  await page.getByText(/e2e-agent · 7 steps · .* · 1 denied · 1 alert/).waitFor();
  const names = () => page.locator(`${OPTION} .truncate`).allInnerTexts();
  await expect
    .poll(names, WITHIN)
    .toEqual([
      expect.stringMatching(/^Trace .* · 4 steps/),
      expect.stringMatching(/^plan.run/),
      expect.stringMatching(/^files.read/),
      expect.stringMatching(/^cache.get/),
      expect.stringMatching(/^files.delete/),
      "Alert Denied deletions",
      expect.stringMatching(/^Trace .* · 3 steps/),
      expect.stringMatching(/^notes.write/),
      expect.stringMatching(/^refunds.create/),
      "Approval",
      expect.stringMatching(/^refunds.create/),
    ]);
  const bar = (action: string) =>
    page.locator(OPTION).filter({ hasText: action }).first().locator("[data-kind=step]").boundingBox();
  const [root, read] = [await bar("plan.run"), await bar("files.read")];
  expect((read?.width ?? 0) / (root?.width ?? 1)).toBeCloseTo(0.25, 1);
  expect(((read?.x ?? 0) - (root?.x ?? 0)) / (root?.width ?? 1)).toBeCloseTo(0.25, 1);
  await expectAccessible(page);
  await picture(page, "timeline");
  await leave(visited);
});

test("a step opens beside it, an alert on its own page, and a trace alone", async () => {
  const visited = await visit(`/timeline?session_id=${session}`, { session: org.session });
  const { page } = visited;
  await page.locator(OPTION).filter({ hasText: "files.delete" }).click();
  const panel = page.getByRole("dialog", { name: "Step" });
  await panel.getByRole("link", { name: "Trace timeline" }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page
    .locator(OPTION)
    .filter({ hasText: `Trace ${trace}-2` })
    .click();
  await page.waitForURL(new RegExp(`trace_id=${trace}-2`));
  await page.getByRole("heading", { name: "Trace timeline" }).waitFor();
  await page.goBack();
  await page.locator(OPTION).filter({ hasText: "Denied deletions" }).click();
  await page.waitForURL(/\/deliveries\/dlv_/);
  await leave(visited);
});

test("an event leads to its timeline, whose link has times that stay", async () => {
  const visited = await visit(`/events?session_id=${session}`, { session: org.session });
  const { page } = visited;
  await page.locator(OPTION).filter({ hasText: "cache.get" }).click();
  await page.getByRole("link", { name: "Session timeline" }).click();
  await page.waitForURL(/\/timeline\?/);
  await page.locator(`${OPTION}[aria-selected=true]`).filter({ hasText: "cache.get" }).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("button", { name: "Copy link" }).click();
  const shared = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  expect(shared.searchParams.get("session_id")).toBe(session);
  const [from, to] = ["from", "to"].map((name) => Date.parse(shared.searchParams.get(name) ?? ""));
  expect((to ?? 0) - (from ?? 0)).toBeGreaterThan(6_000);
  await page.goto(shared.href);
  await page.getByText(/ 7 steps/).waitFor();
  await leave(visited);
});

test("a long run says how much of it is shown, and draws only what is seen", async () => {
  const long = unique("long");
  const at = Date.now() - 3_000_000;
  const events = Array.from({ length: 1_100 }, (_, step) => ({
    session_id: long,
    action: "loop.step",
    occurred_at: new Date(at + step * 1_000).toISOString(),
  }));
  for (let from = 0; from < events.length; from += 100) await send(org, events.slice(from, from + 100));
  const visited = await visit(`/timeline?session_id=${long}`, { session: org.session });
  const { page } = visited;
  await page.getByText("These are the first 1,000 steps; there are more.").waitFor();
  await page.getByText(/· first 1,000 steps ·/).waitFor();
  expect(await page.locator(OPTION).count()).toBeLessThan(80);
  await page.getByRole("button", { name: "Load 1,000 more" }).click();
  await page.getByText(/· 1,100 steps ·/).waitFor();
  await send(org, [{ session_id: long, action: "loop.end" }]);
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText(/· 1,101 steps ·/).waitFor();
  expect(await page.getByRole("button", { name: "Load 1,000 more" }).count()).toBe(0);
  await leave(visited);
});

test("yesterday is two clicks away, and a list is shared with the times that it has now", async () => {
  const visited = await visit("/events?last=1h&result=denied", { session: org.session });
  const { page } = visited;
  await page.locator(OPTION).first().waitFor();
  const before = Date.now();
  await page.getByRole("button", { name: "Copy link" }).click();
  const shared = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  expect(shared.searchParams.get("last")).toBeNull();
  expect(shared.searchParams.get("result")).toBe("denied");
  expect(Date.parse(shared.searchParams.get("to") ?? "")).toBeGreaterThanOrEqual(before);
  await page.getByText("Custom", { exact: true }).click();
  await page.getByRole("button", { name: "Yesterday" }).waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Yesterday" }).click();
  await page.waitForURL(/from=.*T00%3A00%3A00.000Z&to=.*T00%3A00%3A00.000Z/);
  await leave(visited);
});

test("on a phone and in the dark a run fits the screen", async () => {
  const look = { width: 390, height: 844, scheme: "dark" as const, session: org.session };
  const visited = await visit(`/timeline?session_id=${session}`, look);
  const { page } = visited;
  await page.locator(OPTION).filter({ hasText: "cache.get" }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await picture(page, "phone/timeline-run", "small");
  await leave(visited);
});
