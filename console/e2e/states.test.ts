// Every screen in each of its states, and with the demo's data on a phone and in the dark.
import { readFileSync } from "node:fs";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
  expectAccessible,
  expectNoSidewaysScroll,
  type Look,
  picture,
  useBrowser,
  type Visit,
  visit,
} from "./browser";
import { newOrganization } from "./organization";
import { DOORS, type Door, pathOf, SCREENS } from "./screens";

useBrowser();

/** Small pictures are enough to see a state. */
const SMALL = { width: 1000, height: 640 };

test("every route of the console is looked at here", () => {
  const routes = [...readFileSync("src/routes.tsx", "utf8").matchAll(/^ {2}(?:screen|door)\("(.*?)"/gm)];
  const looked = [...SCREENS, ...DOORS].map(({ path }) => path.replace(/[?#].*/, ""));
  // One thing of many has its id at the end.
  const ofAny = (path: string) => path.replace(/\/(\{.*\}|\$\w+|\d+)$/, "/*");
  expect(looked.map(ofAny).sort()).toEqual(routes.map(([, route = ""]) => ofAny(route)).sort());
});

test("an unknown address keeps the menu, and a page beside the console says where it is", async () => {
  const { page, context } = await visit("/no/such/page");
  await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Events" }).waitFor();
  await expectAccessible(page);
  await page.goto("/v1/nothing");
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await page.getByRole("link", { name: "the console" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  // Where nobody knows who is logged in there is no menu either.
  await page.route("**/v1/me", (route) => route.fulfill(refusal(503)));
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "This page cannot be displayed" }).waitFor();
  await expectAccessible(page);
  await context.close();
});

/** Tests that look at one screen after the other in the same page; what the browser complains about fails the last. */
function inOnePage(look: () => Promise<Look>, prepare?: (page: Page) => Promise<void>): () => Page {
  let visited: Visit;
  beforeAll(async () => {
    visited = await visit("/favicon.svg", await look());
    await prepare?.(visited.page);
  });
  afterAll(async () => {
    await visited?.context.close();
    // An answer that a test made up is no fault of the page.
    const isOurs = (text: string) => text.includes("responded with a status of 503");
    expect(visited?.troubles.filter((text) => !isOurs(text))).toEqual([]);
  });
  return () => visited.page;
}

/** Who is logged in and what the server is are always told: without them there is no screen. */
function isSpared(url: string): boolean {
  return /\/v1\/(me|about)$/.test(new URL(url).pathname);
}

/** Answers everything else that a page asks, as `handle` does. */
async function answerWith(page: Page, handle: (route: Route) => Promise<void>): Promise<void> {
  await page.route("**/v1/**", (route) =>
    // A page that was left does not take its answer any more.
    (isSpared(route.request().url()) ? route.continue() : handle(route)).catch(() => {}),
  );
}

const WORDS = {
  429: "There were more requests than there may be. Send this one again in 30 seconds.",
  503: "The database cannot be reached just now. Send the request again.",
};

/** What the server says when its database is away, and when somebody asks too often. */
function refusal(status: 429 | 503) {
  const isLimit = status === 429;
  const code = isLimit ? "RATE_LIMITED" : "STORE_UNAVAILABLE";
  const problem = {
    type: `${inject("demo").base_url}/errors/${code}`,
    title: isLimit ? "Too many requests" : "The database cannot be reached",
    status,
    code,
    detail: WORDS[status],
    request_id: "req_01m7gknj7tfrar43sexe9fms2p",
    errors: [],
  };
  return {
    status,
    headers: { "Retry-After": isLimit ? "30" : "5" },
    contentType: "application/problem+json",
    body: JSON.stringify(problem),
  };
}

/** Those that wait for an answer before they show anything. */

async function expectState(page: Page, state: string, name: string, words = ""): Promise<void> {
  await page.locator(`[data-state="${state}"]`).filter({ hasText: words }).first().waitFor();
  await expectAccessible(page);
  await picture(page, `states/${name}-${state}`, "small");
}

describe("empty", () => {
  const page = inOnePage(async () => ({ ...SMALL, session: (await newOrganization("Fresh")).session }));
  test.each(SCREENS.filter(({ empty }) => empty))("$name teaches what would be there", async (screen) => {
    await page().goto(screen.empty ?? screen.path);
    await expectState(page(), "empty", screen.name);
  });
});

describe("loading", () => {
  const held: (() => void)[] = [];
  const page = inOnePage(
    async () => SMALL,
    (page) =>
      answerWith(page, (route) => new Promise<void>((go) => held.push(go)).then(() => route.continue())),
  );
  test.each(SCREENS)("$name shows that it is on its way, and then itself", async (screen) => {
    await page().goto(await pathOf(screen));
    await expectState(page(), "loading", screen.name);
    const release = setInterval(() => {
      for (const go of held.splice(0)) go();
    }, 50);
    await expectSettled(page());
    clearInterval(release);
    await expectAccessible(page());
  });
});

describe.each([
  { state: "error", status: 503 as const },
  { state: "rate-limited", status: 429 as const },
])("$state", ({ state, status }) => {
  const page = inOnePage(
    async () => SMALL,
    (page) => answerWith(page, (route) => route.fulfill(refusal(status))),
  );
  test.each(SCREENS)("$name says so in the server's words", async (screen) => {
    await page().goto(await pathOf(screen));
    await expectState(page(), state, screen.name, WORDS[status]);
  });
});

/** Opens a screen for who is not logged in. */
async function open(page: Page, { path }: Door): Promise<void> {
  // Another page first: a link with a token that differs by its hash alone loads nothing anew.
  await page.goto("/favicon.svg");
  await page.goto(path);
}

async function submit(page: Page, { fields, button }: Door): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    // A star after it says that it must be filled in.
    await page.getByLabel(new RegExp(`^${label}( \\*)?$`)).fill(text);
  }
  await page.getByRole("button", { name: button, exact: true }).click();
}

/** A server that sends mail, which the demo's does not: only then one can ask for a link. */
async function sendMail(page: Page): Promise<void> {
  await page.route("**/v1/about", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), sends_mail: true } });
  });
}

describe.each([
  { state: "error", status: 503 as const },
  { state: "rate-limited", status: 429 as const },
])("$state before anybody is logged in", ({ state, status }) => {
  const page = inOnePage(
    async () => ({ ...SMALL, session: null }),
    async (page) => {
      await answerWith(page, (route) => route.fulfill(refusal(status)));
      await sendMail(page);
    },
  );
  test.each(DOORS)("$name says so in the server's words", async (door) => {
    await open(page(), door);
    await submit(page(), door);
    await expectState(page(), state, door.name, WORDS[status]);
  });
});

describe("loading before anybody is logged in", () => {
  const page = inOnePage(
    async () => ({ ...SMALL, session: null }),
    async (page) => {
      await answerWith(page, () => new Promise(() => {}));
      await sendMail(page);
    },
  );
  test.each(DOORS)("$name shows that the form is on its way", async (door) => {
    await open(page(), door);
    await submit(page(), door);
    await page().locator("button[data-loading]").waitFor();
    await picture(page(), `states/${door.name}-loading`, "small");
  });
});

describe.each([
  { where: "phone", look: { width: 375, height: 800 } },
  { where: "dark", look: { ...SMALL, scheme: "dark" as const } },
])("$where", ({ where, look }) => {
  const expectReadable = async (page: Page, name: string) => {
    await expectSettled(page);
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    await picture(page, `${where}/${name}`, "small");
  };
  describe("of who is logged in", () => {
    const page = inOnePage(async () => look);
    test.each(SCREENS)("$name can be read without scrolling sideways", async (screen) => {
      await page().goto(await pathOf(screen));
      await expectReadable(page(), screen.name);
    });
  });
  describe("before anybody is logged in", () => {
    const page = inOnePage(async () => ({ ...look, session: null }));
    test.each(DOORS)("$name can be read without scrolling sideways", async (door) => {
      await open(page(), door);
      await expectReadable(page(), door.name);
    });
  });
});

/** Waits until nothing is on its way any more. */
async function expectSettled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.locator('main [data-state="loading"]').first().waitFor({ state: "detached" });
  // What draws charts comes later than the screen.
  await page.locator("main .mantine-Skeleton-root").first().waitFor({ state: "detached" });
}

test("too many keys in a minute are refused by the server itself, and the form says so", async () => {
  const { session } = await newOrganization("Limited");
  const { base_url } = inject("demo");
  const visited = await visit("/setup", { session });
  const { page } = visited;
  const button = page.getByRole("button", { name: "Create key" });
  await button.waitFor();
  const headers = { "Content-Type": "application/json", Cookie: `${session.name}=${session.value}` };
  const body = JSON.stringify({ name: "one of many", scopes: ["events:write"] });
  let status = 201;
  // The limit is 60 a minute, and one was made with the organization.
  for (let made = 1; made <= 60 && status !== 429; made += 1) {
    status = (await fetch(`${base_url}/v1/api-keys`, { method: "POST", headers, body })).status;
  }
  expect(status).toBe(429);
  await button.click();
  await page.locator('[data-state="rate-limited"]').waitFor();
  await visited.context.close();
  expect(visited.troubles).toEqual([]);
});
