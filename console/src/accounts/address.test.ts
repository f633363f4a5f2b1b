// What of an address is trusted, and what is not.
import { expect, test } from "vitest";
import { ownPath, tokenIn } from "./address";

const here = "https://watchbell.example.com";

test("signing in leads back to where one was", () => {
  expect(ownPath("/events?q=a%20b#x", here)).toBe("/events?q=a%20b#x");
});

test("signing in never leads to another site", () => {
  const others = [
    undefined,
    "",
    "events",
    "//evil.example/x",
    "/\\evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "/\t/evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    `${here}.evil.example`,
  ];
  for (const next of others) expect(ownPath(next, here), String(next)).toBe("/");
});

test("the token of a link is read from behind the hash, where no server sees it", () => {
  expect(tokenIn("#token=wbt_abc")).toBe("wbt_abc");
  expect(tokenIn("token=wbt_abc")).toBe("wbt_abc");
  expect(tokenIn("")).toBeUndefined();
  expect(tokenIn("#other=1")).toBeUndefined();
});
