// The words for what a check found.
import type { Report } from "@watchbell/sdk/proof";
import { expect, test } from "vitest";
import { contents, leftOpen, meaning } from "./words";

const PROVEN: Report = {
  verdict: "proven",
  findings: [],
  findingsLeftOut: 0,
  remarks: [],
  first: 0,
  end: 1_234,
  size: 1_234,
  counts: { leaves: 1_234, events: 1_000, attempts: 234, erased: 0, gone: 0, withheld: 0 },
  policies: 0,
  signedBy: [],
  cosigned: [],
};

test.each([
  ["the whole log", {}, /^All 1,234 entries of the log are accounted for\. What/],
  ["a part", { first: 10, end: 20 }, /^Entries 10 to 19 of the log are accounted for\. What/],
  ["a filter", { counts: { ...PROVEN.counts, withheld: 7 } }, /for; 7 of them are withheld\. What/],
  ["a file that was changed", { verdict: "not_proven" }, /^This file does not show/],
  ["another file", { verdict: "cannot_be_checked" }, /^This page could not come to a verdict/],
])("%s is explained", (_, some, expected) => {
  expect(meaning({ ...PROVEN, ...some } as Report)).toMatch(expected);
});

test("events and attempts are always counted, the rest if there are any", () => {
  expect(contents(PROVEN).map(({ name }) => name)).toEqual(["Events", "Delivery attempts"]);
  const some = { ...PROVEN, policies: 2, counts: { ...PROVEN.counts, erased: 1 } };
  expect(contents(some).map(({ name, count }) => `${name} ${count}`)).toEqual([
    "Events 1000",
    "Delivery attempts 234",
    "Policy versions 2",
    "Erased 1",
  ]);
});

test("what is left open is said, the log's limits always", () => {
  expect(leftOpen(PROVEN)).toEqual(["Whether everything that happened was recorded in the first place."]);
  const remarks = [
    { code: "key_from_file", message: "the key is the file's own word" },
    { code: "gone", message: "records are said to be past their retention (3)" },
  ];
  const [key, gone, replay] = leftOpen({ ...PROVEN, remarks, policies: 1 });
  expect(key).toMatch(/^Whose log this is/);
  expect(gone).toBe("Records are said to be past their retention (3).");
  expect(replay).toMatch(/--replay/);
});
