// A real browser that looks at the console as a person does, and notes whatever goes wrong on the way.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { PICTURES } from "./gallery";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Look {
  width?: number;
  height?: number;
  scheme?: "light" | "dark";
  /** Another session than the demo owner's; `null` for nobody's. */
  session?: { name: string; value: string } | null;
}

/** A page, and what went wrong on it. */
export interface Visit {
  page: Page;
  context: BrowserContext;
  /** Errors and violations of the content security policy, so far. */
  troubles: string[];
}

let browser: Browser;

/** Call once in a file: opens the browser before its tests and closes it after them. */
export function useBrowser(): void {
  beforeAll(async () => {
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterAll(() => browser?.close());
}

/** Opens a path of the console. */
export async function visit(path: string, look: Look = {}): Promise<Visit> {
  const base = inject("console");
  const { width = 1280, height = 800, scheme = "light" } = look;
  const context = await browser.newContext({
    baseURL: base,
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: "reduce",
    timezoneId: "UTC",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const session = look.session === undefined ? inject("session") : look.session;
  if (session) await context.addCookies([{ ...session, url: base, httpOnly: true, sameSite: "Lax" }]);
  const page = await context.newPage();
  const troubles = note(page);
  await page.goto(path);
  return { page, context, troubles };
}

/** What the browser complains about. A refused request is the server's answer and shown to people, no error. */
function note(page: Page): string[] {
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    const isAnswer = text.startsWith("Failed to load resource: the server responded with a status of 4");
    if (message.type() === "error" && !isAnswer) troubles.push(`console: ${text}`);
  });
  return troubles;
}

/** Ends a visit. Whatever the browser complained about fails the test, violations of the policy too. */
export async function leave({ context, troubles }: Visit): Promise<void> {
  await context.close();
  expect(troubles).toEqual([]);
}

/** Whatever axe finds about what is on the screen now, be it minor; there must be nothing. */
export async function expectAccessible(page: Page): Promise<void> {
  // Into an isolated world, where the page's policy does not hold.
  const findings = await page.evaluate(`(async () => {
    ${axeSource}
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(
      (one) => one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "),
    );
  })()`);
  expect(findings).toEqual([]);
}

/** Takes a picture for the documentation; a small one where there are many. In CI nobody would look at it. */
export async function picture(page: Page, name: string, size: "full" | "small" = "full"): Promise<void> {
  if (process.env.CI) return;
  const path = resolve(PICTURES, `${name}.${size === "small" ? "jpg" : "png"}`);
  mkdirSync(dirname(path), { recursive: true });
  const kind = size === "small" ? ({ type: "jpeg", quality: 60 } as const) : {};
  await page.screenshot({ path, animations: "disabled", ...kind });
}

/** Nothing may need to be scrolled sideways to be read. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  // A window that has just become smaller moves for a moment.
  const tooWide = () => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));
  await expect.poll(tooWide, { message: "wider than the window" }).toBe(0);
}
