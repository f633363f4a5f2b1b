// Endpoints and signing secrets through the browser.
import { beforeAll, expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newcomer, newOrganization, type Organization } from "./organization";
import { until } from "./until";

useBrowser();

/** Where endpoints are changed; the demo is only looked at. */
let org: Organization;

beforeAll(async () => {
  org = await newOrganization("Endpoints");
});

const call: Organization["manage"] = (...asked) => org.manage(...asked);

/** An endpoint that a test delivery was sent to. */
async function endpoint(path: string): Promise<string> {
  const url = new URL(path, inject("demo").receiver_url).href;
  const rule = await call<{ id: string }>("POST", "/v1/alert-rules", {
    name: `Refunds, to ${path}`,
    match: { event_type: ["refund_request"] },
    url,
  });
  const { delivery_id } = await call<{ delivery_id: string }>(
    "POST",
    `/v1/alert-rules/${rule.id}/trigger`,
    {},
  );
  return until("The attempt", async () => {
    const response = await call<{ endpoint_id: string; attempts: number }>(
      "GET",
      `/v1/deliveries/${delivery_id}`,
    ).catch(() => undefined);
    return response && response.attempts > 0 ? response.endpoint_id : undefined;
  });
}

test("an endpoint that fails is listed with what is wrong, and is paused and resumed after it was asked", async () => {
  const demo = await visit("/endpoints");
  await demo.page.getByRole("table").waitFor();
  await expectAccessible(demo.page);
  await picture(demo.page, "endpoints");
  await leave(demo);

  const id = await endpoint("/nowhere");
  const visited = await visit("/endpoints", { session: org.session });
  const { page } = visited;
  await page.locator(`a[href="/endpoints/${id}"]`).click();
  await page.locator('[data-health="failing"]').waitFor();
  await page.getByText("there is nothing at this path", { exact: false }).first().waitFor();
  await expectAccessible(page);
  await picture(page, "endpoint");

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("dialog").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Pause endpoint" }).click();
  await page.locator('[data-health="paused"]').waitFor();
  expect(await call("GET", `/v1/endpoints/${id}`)).toMatchObject({ status: "paused" });
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Resume endpoint" }).click();
  await until("It is active", async () => {
    const { status } = await call("GET", `/v1/endpoints/${id}`);
    return status === "active" ? status : undefined;
  });
  await page.getByRole("link", { name: "View deliveries" }).click();
  await page.getByRole("option").first().waitFor();
  await leave(visited);
});

test("a healthy endpoint is listed too, and tells its rate of success", async () => {
  const id = await endpoint("/webhooks");
  const visited = await visit(`/endpoints/${id}`, { session: org.session });
  const { page } = visited;
  await page.locator('[data-health="healthy"]').waitFor();
  await page.getByText(/% delivered/).waitFor();
  await leave(visited);
});

test("a secret is staged, shown once, promoted, and the one before is let go", async () => {
  const session = await newcomer();
  const visited = await visit("/signing-secrets", { session });
  const { page } = visited;
  const step = (number: number) => page.locator(`[data-step="${number}"]`).waitFor();
  const promote = async (overlap: string) => {
    await page.getByRole("button", { name: "Promote…" }).click();
    await page.getByRole("combobox", { name: "Keep signing with the previous secret" }).click();
    await page.getByRole("option", { name: overlap }).click();
    await page.getByRole("button", { name: "Promote secret", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  const keep = async () => {
    await page.getByLabel("I have copied the signing secret").check();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await step(0);
  await page.getByRole("button", { name: "Stage a new secret" }).click();
  await page.getByRole("region", { name: "signing secret", exact: true }).getByText("whsec_").waitFor();
  await step(1);
  await expectAccessible(page);
  await keep();
  await picture(page, "signing-secrets");
  await page.getByText("whsec_").waitFor({ state: "detached" });

  // The server's own ends at once; one rotation has to be over before the next.
  await promote("not at all (it has leaked)");
  await step(0);
  await page.getByRole("button", { name: "Stage a new secret" }).click();
  await keep();
  await promote("for an hour");
  await step(2);
  await page.getByRole("button", { name: "Drop…" }).click();
  await page.getByRole("button", { name: "Drop secret", exact: true }).click();
  await step(0);
  await leave(visited);
});

test("endpoints and secrets fit a phone, and who has none is told how one comes to be", async () => {
  const session = await newcomer();
  const visited = await visit("/endpoints", { width: 375, height: 812, session });
  const { page } = visited;
  await page.getByText("No endpoints yet").waitFor();
  await expectNoSidewaysScroll(page);
  await page.goto("/signing-secrets");
  await page.getByText("You are here:").waitFor();
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  await leave(visited);
});
