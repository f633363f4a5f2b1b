// The ways in: signing in, registering, links from mails, a forgotten password.
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { expectAccessible, expectNoSidewaysScroll, leave, picture, useBrowser, visit } from "./browser";
import { newOrganization, register } from "./organization";
import { send } from "./trail";

useBrowser();

const password = (page: Page) => page.getByRole("textbox", { name: /password/i });

async function signIn(page: Page, email: string, secret: string): Promise<void> {
  await page.getByLabel("Email address").fill(email);
  await password(page).fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("who is not signed in is asked to, and comes back to where they wanted to go", async () => {
  const { user_email, user_password } = inject("demo");
  const seen = await visit("/keys?show=all", { session: null });
  const { page } = seen;
  await page.waitForURL("**/sign-in?next=*");
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  await expectAccessible(page);
  await picture(page, "sign-in");
  await signIn(page, user_email, user_password);
  await page.waitForURL("**/keys?show=all");
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await leave(seen);
});

test("who signs out is out, and who cannot is told so", async () => {
  const { session } = await newOrganization("Leaving");
  const seen = await visit("/keys", { session });
  const { page } = seen;
  const signOut = page.getByRole("menuitem", { name: "Sign out" });
  await page.getByRole("button", { name: /Leaving$/ }).click();
  await page.route("**/v1/auth/logout", (route) => route.fulfill({ status: 429, json: {} }));
  await signOut.click();
  await page.getByText("You are still signed in").waitFor();
  await expectAccessible(page);
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await page.unroute("**/v1/auth/logout");
  await signOut.click();
  await page.waitForURL("**/sign-in");
  await page.goto("/keys");
  await page.waitForURL("**/sign-in?next=*");
  await leave(seen);
});

test("a session that ends while somebody is inside leads to signing in, and back", async () => {
  const { email, password, session, manage } = await newOrganization("Ended");
  const seen = await visit("/events?last=7d", { session });
  const { page } = seen;
  await page.getByRole("heading", { name: "Events", level: 1 }).waitFor();
  await manage("POST", "/v1/auth/logout");
  // Whatever is asked next notices it: what this does, or what the screen asks by itself before.
  await page
    .getByRole("link", { name: "Exports" })
    .click({ timeout: 2_000 })
    .catch(() => {});
  await page.waitForURL((url) => url.pathname === "/sign-in");
  const next = new URL(page.url()).searchParams.get("next") ?? "";
  expect(["/exports", "/events?last=7d"]).toContain(next);
  await signIn(page, email, password);
  await page.waitForURL((url) => url.pathname + url.search === next);
  await leave(seen);
});

test("the menu goes anywhere, by name or by id, and one can sign out", async () => {
  const own = await newOrganization("Finder");
  const [id = ""] = await send(own, [{}]);
  const rule = await own.manage<{ id: string }>("POST", "/v1/alert-rules", {
    name: "Denied payouts",
    match: { result: ["denied"] },
    url: inject("demo").receiver_url,
  });
  const seen = await visit("/", { session: own.session });
  const { page } = seen;
  await page.getByRole("button", { name: "Use dark theme" }).click();
  await page.getByRole("button", { name: "Use light theme" }).waitFor();
  const box = page.getByRole("textbox", { name: "Page, name or ID" });
  // Names that arrive after one was written: Enter goes to the first all the same.
  let arrive = () => {};
  const arrived = new Promise<void>((done) => (arrive = done));
  await page.route("**/v1/alert-rules?*", async (route) => {
    await arrived;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await box.fill("denied pay");
  await page.getByRole("button", { name: "Search events for agent “denied pay”" }).waitFor();
  arrive();
  await page.getByRole("button", { name: "Denied payouts" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/rules/${rule.id}`);
  await page.keyboard.press("Control+k");
  await box.fill("webhook");
  await expectAccessible(page);
  await picture(page, "finder");
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.waitForURL("**/rules");
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await keys.getByText("Go to Alert rules").waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await box.fill("create rule");
  await page.getByRole("button", { name: "Create rule", exact: true }).click();
  await page.waitForURL("**/rules/new");
  await page.keyboard.press("Control+k");
  await box.fill("rare-agent");
  await page.getByRole("button", { name: "Search events for agent “rare-agent”" }).click();
  await page.waitForURL("**/events?agent_id=rare-agent");
  await page.keyboard.press("Control+k");
  await box.fill(id);
  await page.waitForURL(`**/events?event=${id}`);
  await page.getByRole("button", { name: /@example.com/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  await expectAccessible(page);
  await page.getByRole("menuitem", { name: /Show times in/ }).click();
  await page.getByRole("menuitem", { name: "Turn off single-key shortcuts" }).click();
  await page.getByRole("menuitem", { name: "Turn on single-key shortcuts" }).waitFor();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  await page.goto("/");
  await page.waitForURL("**/sign-in?next=*");
  await leave(seen);
});

test("signing in never leads to another site", async () => {
  const { user_email, user_password } = inject("demo");
  const seen = await visit("/sign-in?next=//evil.example/steal", { session: null });
  const { page } = seen;
  await signIn(page, user_email, user_password);
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  expect(new URL(page.url()).host).toBe(new URL(inject("console")).host);
  expect(new URL(page.url()).pathname).toBe("/");
  await leave(seen);
});

test("a wrong password is answered in words, and the way to another one is near", async () => {
  const seen = await visit("/sign-in", { session: null });
  const { page } = seen;
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Enter an email address such as").waitFor();
  await signIn(page, "nobody@example.com", "not the password");
  await page.locator("[data-state=error]").getByText("do not match").waitFor();
  await expectAccessible(page);
  await picture(page, "sign-in-refused");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await page.getByText("watchbell admin reset-link").waitFor();
  await expectAccessible(page);
  await picture(page, "forgot-password");
  await leave(seen);
});

test("the rules for a password are said before it is refused, and it can be seen", async () => {
  const seen = await visit("/register", { session: null });
  const { page } = seen;
  await page.getByText("12 to 128 characters").waitFor();
  await page.getByLabel("Organization").fill("Short");
  await page.getByLabel("Email address").fill("short@example.com");
  await password(page).fill("short");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByText("Use at least 12 characters; this has 5.").waitFor();
  await page.getByRole("button", { name: "Show or hide password" }).click();
  expect(await password(page).getAttribute("type")).toBe("text");
  expect(await password(page).getAttribute("autocomplete")).toBe("new-password");
  // The server's own refusal, at the field it names.
  await password(page).fill("short@example.com");
  await page.getByRole("button", { name: "Register" }).click();
  await page.locator(".mantine-PasswordInput-error").waitFor();
  await expectAccessible(page);
  await leave(seen);
});

test("an address that has an account is not registered twice, and its owner is told what to do", async () => {
  const { email } = await register("Taken");
  const seen = await visit("/register", { session: null });
  const { page } = seen;
  await page.getByText("This server does not send email").waitFor();
  await page.getByLabel("Organization").fill("Again");
  await page.getByLabel("Email address").fill(email);
  await password(page).fill("a guess of somebody else");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByText("This address already has an account").waitFor();
  await leave(seen);
});

test("where registration is closed the way to it is not shown, and its page says what to do", async () => {
  const seen = await visit("/favicon.svg", { session: null });
  const { page } = seen;
  await page.route("**/v1/about", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), registration: "closed" } });
  });
  await page.goto("/sign-in");
  await page.getByRole("link", { name: "Forgot your password?" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "Register an organization" }).count()).toBe(0);
  await page.goto("/register");
  await page.getByText("watchbell admin create-org").waitFor();
  expect(await page.getByRole("button", { name: "Register" }).count()).toBe(0);
  await expectAccessible(page);
  await leave(seen);
});

test("a link of an invitation works once; its secret leaves the address bar at once", async () => {
  const { session, manage } = await newOrganization("Inviting");
  const email = `bob-${Date.now()}@example.com`;
  const { link } = await manage<{ link: string }>("POST", "/v1/invitations", { email, role: "viewer" });
  const { pathname, hash } = new URL(link);
  const seen = await visit(`${pathname}${hash}`, { session: null });
  const { page } = seen;
  await page.getByRole("button", { name: "Join" }).waitFor();
  expect(page.url()).not.toContain("token");
  await expectAccessible(page);
  await picture(page, "accept-invitation");
  await password(page).fill("a password of his own");
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByText("You have joined the organization").waitFor();
  await signIn(page, email, "a password of his own");
  await page.getByRole("navigation", { name: "Main" }).waitFor();

  // A viewer sees keys and cannot make one.
  await page.goto("/keys");
  const make = page.getByRole("button", { name: "New key" });
  await make.waitFor();
  expect(await make.getAttribute("aria-disabled")).toBe("true");

  await page.goto(`${pathname}${hash}`);
  await password(page).fill("another password, late");
  await page.getByRole("button", { name: "Join" }).click();
  await page.locator("[data-state=error]").waitFor();
  expect(session.value).not.toBe("");
  await leave(seen);
});

test("a link that lost its secret says so instead of failing later", async () => {
  const seen = await visit("/reset-password", { session: null });
  const { page } = seen;
  await page.getByText("Part of the link is missing").waitFor();
  await expectAccessible(page);
  await page.goto("/verify-email#token=wbt_0000");
  await password(page).fill("a password that was chosen");
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.locator("[data-state=error]").waitFor();
  await picture(page, "verify-email-refused");
  await leave(seen);
});

test("the way in fits a phone, in the dark too", async () => {
  const seen = await visit("/register", { session: null, width: 375, height: 800, scheme: "dark" });
  await seen.page.getByRole("button", { name: "Register" }).waitFor();
  await expectNoSidewaysScroll(seen.page);
  await expectAccessible(seen.page);
  await picture(seen.page, "register-phone");
  await leave(seen);
});
