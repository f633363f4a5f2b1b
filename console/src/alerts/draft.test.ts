// A rule as it is shown and saved.
import { expect, test } from "vitest";
import { copyOf, draftOf, parse, print } from "./draft";

test("a rule is shown without what it would be anyway", () => {
  const rule = {
    tests: [],
    url: "https://example.com",
    name: "n",
    match: { result: ["denied"] },
    except: [],
    enabled: true,
    shadow: false,
    severity: null,
    tags: ["a"],
  };
  expect(Object.entries(draftOf(rule))).toEqual([
    ["name", "n"],
    ["match", { result: ["denied"] }],
    ["url", "https://example.com"],
    ["tags", ["a"]],
  ]);
});

test("what differs from the default is kept, also if it is false", () => {
  expect(draftOf({ enabled: false, shadow: true })).toEqual({ enabled: false, shadow: true });
});

test("a copy of a rule is not snoozed, and is the same otherwise", () => {
  const rule = { name: "n", url: "https://example.com", match: {}, tags: ["a"] };
  const snoozed = { ...rule, snoozed_until: "2026-11-18T12:00:00Z" } as Parameters<typeof copyOf>[0];
  expect(copyOf(snoozed)).toEqual({ ...rule, name: "n (copy)" });
});

test("printed text is the same rule, with short lists on one line", () => {
  const draft = {
    name: "[x]\n",
    match: { result: ["denied", "error"], metadata: { amount: [{ numeric: [">=", 500] }] } },
    tags: Array.from({ length: 16 }, (_, at) => `a longer tag ${at}`),
  };
  const text = print(draft);
  expect(JSON.parse(text)).toEqual(draft);
  expect(text).toContain('"result": ["denied", "error"]');
  expect(text).toContain('"numeric": [">=", 500]');
});

test("what is typed is a rule, or it is said why not", () => {
  expect(parse('{"name": "x"}')).toEqual({ draft: { name: "x" } });
  expect(parse("[]")).toHaveProperty("fault");
  expect(parse('{"name": ')).toHaveProperty("fault");
});
