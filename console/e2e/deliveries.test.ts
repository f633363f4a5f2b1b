// Deliveries through the browser: found, explained attempt by attempt, verified, and sent again.
import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  type Look,
  leave,
  picture,
  useBrowser,
  visit,
} from "./browser";
import { newOrganization, type Organization } from "./organization";
import { until } from "./until";

useBrowser();

/** Where deliveries are made; the demo is only looked at. */
let org: Organization;

const call: Organization["manage"] = (...asked) => org.manage(...asked);
const visitOwn = (path: string, look: Look = {}) => visit(path, { session: org.session, ...look });

interface Found {
  id: string;
  state: string;
}

/** A receiver that answers what it is told to. */
let receiver: Server;
let status = 500;
const heard: { body: string; signature: string }[] = [];

beforeAll(async () => {
  org = await newOrganization("Deliveries");
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      heard.push({ body, signature: String(request.headers["x-service-signature"]) });
      response.writeHead(status, { "Content-Type": "text/plain" }).end("out of order");
    });
  });
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
});
afterAll(() => receiver.close());

const url = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

interface Delivered {
  rule: { id: string; name: string };
  delivery: Found;
}

/** A rule that sends what the test wants to see, and the first delivery of it. */
async function deliver(name: string, target: string, state: string): Promise<Delivered> {
  const event_type = name.toLowerCase().replaceAll(" ", "_");
  const rule = await call<Delivered["rule"]>("POST", "/v1/alert-rules", {
    name,
    match: { event_type: [event_type] },
    url: target,
  });
  const metadata = { note: 'it\'s 100 % "fine"', amount: 900 };
  await org.call("POST", "/v1/audit/events", {
    events: [
      { event_type, agent_id: "billing-agent", action: "payments.refund", result: "denied", metadata },
    ],
  });
  const delivery = await until(`A delivery that is ${state}`, async () => {
    const { data } = await call<{ data: Found[] }>("GET", `/v1/deliveries?rule_id=${rule.id}&state=${state}`);
    return data[0];
  });
  return { rule, delivery };
}

test("deliveries are listed by state, narrowed by rule, and opened by keys", async () => {
  const { rule } = await deliver("Refunds over limit", inject("demo").receiver_url, "delivered");
  const demo = await visit("/deliveries");
  await demo.page.getByRole("option").first().waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "deliveries");
  await leave(demo);

  const visited = await visitOwn(`/deliveries?rule_id=${rule.id}`);
  const { page } = visited;
  await page.getByRole("option").filter({ hasText: rule.name }).waitFor();
  await page.getByRole("tab", { name: "Failed" }).click();
  await page.waitForURL(/state=failed/);
  await page.getByText("No matching deliveries").waitFor();
  await page.goBack();
  await page.getByRole("option").filter({ hasText: rule.name }).waitFor();
  await page.getByRole("listbox", { name: "Deliveries" }).focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/deliveries\/dlv_/);
  await page.locator('[data-delivery="delivered"]').waitFor();
  await leave(visited);
});

test("a delivery shows what was sent to the byte, and the command beside it makes the same signature", async () => {
  status = 200;
  const { delivery } = await deliver("Refunds to new accounts", url("/fine"), "delivered");
  const arrived = heard.at(-1);
  const visited = await visitOwn(`/deliveries/${delivery.id}`);
  const { page } = visited;
  await page.getByText("Delivered: the receiver accepted it", { exact: false }).waitFor();
  await page.getByRole("img", { name: /first byte .* total/ }).waitFor();
  await page.getByRole("button", { name: "Request and response" }).click();
  await page.getByText("byte-for-byte match").waitFor();
  expect(await page.getByRole("region", { name: "body", exact: true }).textContent()).toBe(arrived?.body);
  await page
    .getByRole("region", { name: "curl command" })
    .getByText(/^curl --globoff -X POST/)
    .waitFor();
  // The attempt is new, so its signature is not shown yet.
  await page.getByText("This sends the same body from your machine, but no signature").waitFor();
  const command = await page.getByRole("region", { name: "verification code in Shell" }).textContent();
  const secret = await page.evaluate(async () => (await fetch("/v1/signing-secrets/initial")).json());
  const env = { ...process.env, SECRET: secret.secret };
  expect(
    execFileSync("sh", ["-c", command ?? ""], { env })
      .toString()
      .trim(),
  ).toBe(arrived?.signature);
  await page.getByRole("tab", { name: "Python" }).click();
  const script = await page.getByRole("region", { name: "verification code in Python" }).textContent();
  expect(
    execFileSync("python3", ["-c", script ?? ""], { env })
      .toString()
      .trim(),
  ).toBe(arrived?.signature);
  await expectAccessible(page);
  await picture(page, "delivery-request");
  await leave(visited);
});

test("a delivery that fails says why and when it is tried next, and turns green by itself once it arrives", async () => {
  status = 500;
  const { delivery } = await deliver("Payouts at night", url("/broken"), "scheduled");
  const visited = await visitOwn(`/deliveries/${delivery.id}`);
  const { page } = visited;
  await page.locator('[data-delivery="scheduled"]').waitFor();
  const failed = page.locator('[data-attempt="transient"]').first();
  await failed.getByText("500", { exact: false }).first().waitFor();
  await page.locator("[data-next]").getByText("due", { exact: false }).waitFor();
  await expectAccessible(page);
  await picture(page, "delivery");
  status = 200;
  await page.locator('[data-delivery="delivered"]').waitFor({ timeout: 45_000 });
  await leave(visited);
});

test("a delivery is canceled and sent again, after it was asked", async () => {
  status = 503;
  const { delivery } = await deliver("Cards that were read", url("/down"), "scheduled");
  const visited = await visitOwn(`/deliveries/${delivery.id}`);
  const { page } = visited;
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Cancel delivery" }).click();
  await page.locator('[data-delivery="canceled"]').waitFor();
  status = 200;
  await page.getByRole("button", { name: "Resend" }).click();
  await page.getByRole("button", { name: "Resend delivery" }).click();
  await page.locator('[data-delivery="delivered"]').waitFor({ timeout: 30_000 });
  await page.getByText("because someone resent it", { exact: false }).waitFor();
  await leave(visited);
});

test("what was canceled is counted, then resent in bulk, and the progress is shown", async () => {
  status = 503;
  const { rule, delivery } = await deliver("Chargebacks", url("/outage"), "scheduled");
  await call("POST", `/v1/deliveries/${delivery.id}/cancel`);
  status = 200;
  const visited = await visitOwn(`/deliveries?rule_id=${rule.id}&panel=resend`);
  const { page } = visited;
  const panel = page.getByRole("dialog", { name: "Resend deliveries in bulk" });
  await panel.getByRole("button", { name: "Count deliveries" }).click();
  await panel.getByText("No matching deliveries in this time range", { exact: false }).waitFor();
  await panel.getByLabel("canceled").check();
  await panel.getByRole("button", { name: "Count deliveries" }).click();
  await panel.getByText("1 would be resent").waitFor();
  await expectAccessible(page);
  await picture(page, "deliveries-resend");
  await panel.getByRole("button", { name: "Resend 1" }).click();
  await panel.locator('[data-recovery="done"]').filter({ hasText: rule.name }).waitFor({ timeout: 30_000 });
  await until("The delivery", async () => {
    const { state } = await call<Found>("GET", `/v1/deliveries/${delivery.id}`);
    return state === "delivered" ? state : undefined;
  });
  await leave(visited);
});

test("deliveries can be read on a phone and in the dark", async () => {
  const { delivery } = await deliver("Refunds by phone", inject("demo").receiver_url, "delivered");
  const phone = await visit("/deliveries", { width: 375, height: 812 });
  await phone.page.getByRole("option").first().waitFor();
  await expectNoSidewaysScroll(phone.page);
  await picture(phone.page, "deliveries-phone");
  await leave(phone);

  const one = await visitOwn(`/deliveries/${delivery.id}`, { width: 375, height: 812 });
  await one.page.getByRole("button", { name: "Request and response" }).click();
  await one.page.getByText("byte-for-byte match").waitFor();
  await expectNoSidewaysScroll(one.page);
  await picture(one.page, "delivery-phone");
  await leave(one);

  const dark = await visitOwn(`/deliveries/${delivery.id}`, { scheme: "dark" });
  await dark.page.locator('[data-delivery="delivered"]').waitFor();
  await expectAccessible(dark.page);
  await picture(dark.page, "delivery-dark");
  await leave(dark);
});

test("an error of the server is shown in its words and healed by trying again", async () => {
  const visited = await visit("/sessions");
  const { page } = visited;
  await page.route("**/v1/deliveries?*", (route) =>
    route.fulfill({
      status: 422,
      json: { detail: "The record cannot be read.", status: 422, request_id: "r-1" },
    }),
  );
  await page.getByRole("link", { name: "Deliveries", exact: true }).click();
  await page.locator('[data-state="error"]').getByText("The record cannot be read.").waitFor();
  await page.unroute("**/v1/deliveries?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("option").first().waitFor();
  await leave(visited);
});
