// The trail: searched, read, watched live.
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization, type Organization } from "./organization";
import { refuse, send, unique } from "./trail";

useBrowser();

const OPTION = "[role=option]";
const WITHIN = { timeout: 20_000 };

/** What tests send is theirs: the demo stays as it was. */
let own: Organization;
beforeAll(async () => {
  own = await newOrganization("Trail");
});

test("facets filter the list, and the address holds it all", async () => {
  const seen = await visit("/events?last=30d");
  const { page } = seen;
  await page.locator(OPTION).first().waitFor();
  await page.getByRole("img", { name: /Events over time by result/ }).waitFor();
  await picture(page, "events");
  await expectAccessible(page);
  const results = page.getByRole("region", { name: "Result" });
  const label = await results.locator("label", { hasText: /^denied/ }).innerText();
  const count = label.replace("denied", "").trim();
  await results.getByRole("checkbox", { name: /^denied/ }).click();
  await page.waitForURL(/result=denied/);
  // The number beside a value is how many events there are when it is chosen.
  await expect.poll(() => page.locator("[data-count]").innerText(), WITHIN).toContain(`${count} events`);
  // What the head says above the columns is read aloud in each row.
  await page
    .getByRole("option", { name: /^Time: .* Result: denied .*Agent: / })
    .first()
    .waitFor();
  await expect.poll(() => page.locator(`${OPTION}:has-text("success")`).count(), WITHIN).toBe(0);
  // Other values of the same field can still be chosen.
  await page
    .getByRole("region", { name: "Result" })
    .getByRole("checkbox", { name: /^success/ })
    .waitFor();
  await page.reload();
  await page.getByRole("group", { name: "Active filters" }).getByText("Result: denied").waitFor();
  await page.getByRole("button", { name: "Remove Result denied" }).click();
  await page.locator(`${OPTION}:has-text("success")`).first().waitFor();
  expect(page.url()).not.toContain("result=");
  await page.goBack();
  await page.getByText("Result: denied").waitFor();
  await leave(seen);
});

test("events that came since are counted, also late ones, and shown by a click", async () => {
  const resource = unique("newer");
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  await send(own, [{ agent_id: "newer-agent" }]);
  // As "Today" does: a start that stays the same, however often one asks.
  const seen = await visit(`/events?agent_id=newer-agent&from=${ago(90)}`, { session: own.session });
  const { page } = seen;
  await page.locator("[data-count]").getByText("1 event").waitFor();
  await send(own, [{ agent_id: "newer-agent", resource, occurred_at: ago(60) }]);
  await page.getByRole("button", { name: "1 new event" }).click(WITHIN);
  await page.locator(OPTION).getByText(resource).waitFor();
  await page.locator("[data-count]").getByText("2 events").waitFor();
  await page.getByText("Time (local)").waitFor();
  await page.getByRole("button", { name: /Times are in local time/ }).click();
  await page.getByText("Time (UTC)").waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "severity", checked: true }).waitFor();
  await expectAccessible(page);
  await page.getByRole("menuitemcheckbox", { name: "severity" }).click();
  await page.waitForURL(/hide=severity/);

  // Whoever created the key is filtered by ID, and listed by name where no agent can have called itself by that.
  const agents = page.getByRole("region", { name: "Agent" });
  await page.goto("/events?event_type=key_rotation");
  await agents.getByRole("checkbox", { name: /usr_/ }).waitFor();
  await page.goto("/events?event_type=key_rotation&source=server");
  await agents.getByRole("checkbox", { name: new RegExp(own.email) }).click();
  await page.waitForURL(/agent_id=usr_/);
  await page.getByRole("button", { name: `Remove Agent ${own.email}` }).waitFor();
  await leave(seen);
});

test("an event opens beside the list, walks with the keys, and its values filter", async () => {
  const session = unique("session");
  const moments = { one: 3_000, two: 2_000, three: 1_000 };
  await send(
    own,
    Object.entries(moments).map(([resource, ago]) => ({
      session_id: session,
      resource,
      occurred_at: new Date(Date.now() - ago).toISOString(),
      metadata: { note: session },
    })),
  );
  const seen = await visit(`/events?q=${session}`, { session: own.session });
  const { page } = seen;
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(3);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  expect(page.url()).not.toContain("event=");
  await page.keyboard.press("Enter");
  await page.waitForURL(/event=evt_/);
  const panel = page.getByRole("complementary", { name: "Event" });
  await panel.getByText('"two"').waitFor();
  await expectAccessible(page);
  await page.keyboard.press("j");
  await panel.getByText('"one"').waitFor();
  await page.keyboard.press("k");
  await panel.getByText('"two"').waitFor();
  await picture(page, "events-panel");
  await panel.getByRole("button", { name: "Copy JSON" }).click();
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  expect(copied).toMatchObject({ resource: "two", session_id: session });
  const rule = panel.getByRole("link", { name: "Create rule" });
  expect(await rule.getAttribute("href")).toBe(`/rules/new?event=${copied.id}`);
  const deliveries = panel.getByRole("link", { name: "Deliveries" });
  expect(await deliveries.getAttribute("href")).toBe(`/deliveries?event_id=${copied.id}`);
  await panel.getByRole("button", { name: `Filter by metadata.note ${session}` }).click();
  await page.waitForURL((url) => url.searchParams.get("filter") === `metadata.note:${session}`);
  await panel.getByRole("button", { name: `Filter by session_id ${session}` }).click();
  await page.waitForURL((url) => url.searchParams.get("session_id") === session);
  await panel.getByRole("button", { name: "Same session" }).click();
  await page.waitForURL((url) => !url.searchParams.has("q"));
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(3);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.url(), WITHIN).not.toContain("event=");
  await leave(seen);
});

test("a query is completed, corrected and asked, and becomes a rule", async () => {
  const session = unique("session");
  await send(own, [
    { session_id: session, result: "denied", metadata: { amount: 750 } },
    { session_id: session, result: "denied", metadata: { amount: 20 } },
    { session_id: session, result: "success", metadata: { amount: 900 } },
  ]);
  const seen = await visit(`/events?session_id=${session}`, { session: own.session });
  const { page } = seen;
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(3);
  const box = page.getByRole("searchbox", { name: "Search events" });
  await box.click();
  await page.keyboard.type("metad");
  await page.getByRole("option", { name: /^metadata\./ }).click();
  await page.keyboard.type("amount:>500 results:denied");
  await page.getByText("`results` is not a field of an event; did you mean `result`?").waitFor();
  await expectAccessible(page);
  expect(page.url()).not.toContain("filter=");
  await page.getByRole("button", { name: "Use “result”" }).click();
  const query = "metadata.amount:>500 result:denied";
  expect(await box.inputValue()).toBe(query);
  // Esc closes the suggestions, and leaves what is written.
  await page.keyboard.press("End");
  await page.keyboard.type(" ");
  await page.getByRole("option", { name: /^agent_id:/ }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("option", { name: /^agent_id:/ }).waitFor({ state: "detached" });
  expect(await box.inputValue()).toBe(`${query} `);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("filter") === query);
  await expect.poll(() => page.locator(OPTION).count(), WITHIN).toBe(1);
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByText("Created from a search").waitFor();
  await page
    .getByText(`session_id:${session} metadata.amount:>500 result:denied`, { exact: false })
    .first()
    .waitFor();
  await expectAccessible(page);
  await leave(seen);
});

test("keys search and show what keys there are", async () => {
  const seen = await visit("/events", { session: own.session });
  const { page } = seen;
  await page.locator(OPTION).first().waitFor();
  await page.keyboard.press("/");
  const text = unique("nowhere");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`filter=${text}`));
  await page.getByText("No matching events").waitFor();
  await picture(page, "events-empty");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await sheet.waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "hidden" });
  await leave(seen);
});

test("dragging over the histogram chooses that time", async () => {
  const seen = await visit("/events?last=30d");
  const { page } = seen;
  const chart = page.locator(".u-over");
  await chart.waitFor();
  const box = await chart.boundingBox();
  if (box === null) throw new Error("the chart has no place");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL((url) => url.searchParams.has("from") && url.searchParams.has("to"));
  await page.getByRole("switch", { name: "Live" }).and(page.locator(":disabled")).waitFor();
  await leave(seen);
});

test("the live tail shows what arrives, and pauses for who reads", async () => {
  const agent = unique("agent");
  const seen = await visit(`/events?agent_id=${agent}&live=1`, { session: own.session });
  const { page } = seen;
  await page.getByText("Waiting for the next event").waitFor();
  await page.locator("[data-live=open]").waitFor();
  await send(
    own,
    Array.from({ length: 30 }, (_, at) => ({ agent_id: agent, resource: `first-${at}` })),
  );
  await page.locator(OPTION).nth(20).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Space");
  await page.locator("[data-paused=true]").waitFor();
  await send(
    own,
    Array.from({ length: 7 }, (_, at) => ({ agent_id: agent, resource: `second-${at}` })),
  );
  const resume = page.getByRole("button", { name: "Show 7 new" });
  await resume.waitFor();
  expect(await page.getByText("second-").count()).toBe(0);
  await resume.click();
  await page.getByText("second-").first().waitFor();
  await page.locator("[role=listbox]").hover();
  await page.mouse.wheel(0, 300);
  await page.locator("[data-paused=true]").waitFor();
  await leave(seen);
});

test("a lost stream is said and found again", async () => {
  const seen = await visit("/events?live=1");
  const { page } = seen;
  await page.locator("[data-live=open]").waitFor();
  await page.locator(OPTION).first().waitFor();
  await page.getByRole("img", { name: /Events over time by result/ }).waitFor();
  await picture(page, "events-live");
  await refuse(page, "**/v1/audit/events/stream*", 429);
  await page.keyboard.press("l");
  await page.keyboard.press("l");
  await page.getByText("Connection lost, reconnecting").waitFor();
  await page.unroute("**/v1/audit/events/stream*");
  await page.locator("[data-live=open]").waitFor();
  await leave(seen);
});

test("what goes wrong is said in the server's own words", async () => {
  const seen = await visit("/exports");
  const { page } = seen;
  await refuse(page, "**/v1/audit/events?*", 503);
  await refuse(page, "**/v1/audit/facets?*", 503);
  await page.goto("/events");
  await page.locator("[data-state=error]").first().waitFor();
  await picture(page, "events-error");
  await page.unrouteAll();
  await refuse(page, "**/v1/audit/events?*", 429);
  await page.goto("/events");
  await page.locator("[data-state=rate-limited]").first().waitFor();
  await picture(page, "events-rate-limited");
  await expectAccessible(page);
  seen.troubles.splice(
    0,
    seen.troubles.length,
    ...seen.troubles.filter((one) => !one.includes("status of 503")),
  );
  await leave(seen);
});

test("a phone has it all, in the dark too", async () => {
  const seen = await visit("/events?last=30d", { width: 375, height: 760, scheme: "dark" });
  const { page } = seen;
  await page.locator(OPTION).first().waitFor();
  await page.getByRole("img", { name: /Events over time by result/ }).waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await picture(page, "events-phone");
  await page.getByRole("button", { name: "Filters" }).click();
  const denied = page.getByRole("dialog", { name: "Filters" }).getByRole("checkbox", { name: /^denied/ });
  await denied.waitFor();
  await expectAccessible(page);
  await denied.click();
  await page.getByRole("button", { name: "Close filters" }).click();
  await page.getByText("Result: denied").waitFor();
  await page.locator(OPTION).first().click();
  await page.getByRole("dialog", { name: "Event" }).getByText('"agent_id"').waitFor();
  await expectAccessible(page);
  await leave(seen);
});

test("it is as readable in the dark", async () => {
  const seen = await visit("/events?last=30d", { scheme: "dark" });
  const { page } = seen;
  await page.locator(OPTION).first().click();
  await page.getByRole("complementary", { name: "Event" }).getByText('"agent_id"').waitFor();
  await page.getByRole("img", { name: /Events over time by result/ }).waitFor();
  await expectAccessible(page);
  await picture(page, "events-dark");
  await leave(seen);
});
