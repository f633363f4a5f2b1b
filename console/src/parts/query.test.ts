// How queries are put together; what they mean is the server's to say.
import { expect, test } from "vitest";
import { joined, placesIn, withOffer, written } from "./query";

test("the server's places are found in a text with letters that browsers count twice", () => {
  const text = '"🔔" results:denied';
  expect(text.slice(...placesIn(text, { start: 4, end: 11 }))).toBe("results");
  expect(placesIn("ab", { start: 2, end: 2 })).toEqual([2, 2]);
});

test("a value is in quotes where it would be read as something else", () => {
  for (const plain of ["denied", "billing-7", "payments.refund", "invoice:7", "größe"]) {
    expect(written(plain)).toBe(plain);
  }
  expect(written("two words")).toBe('"two words"');
  expect(written("-x")).toBe('"-x"');
  expect(written("ag-*")).toBe('"ag-*"');
  expect(written('say "hi"\\')).toBe('"say \\"hi\\"\\\\"');
});

test("an offer takes the place of what was typed", () => {
  expect(withOffer("-sev", [1, 4], "severity:")).toEqual(["-severity:", 10]);
  expect(withOffer("severity:h x", [9, 10], "high")).toEqual(["severity:high x", 13]);
  expect(withOffer("severity:h", [9, 10], "high")).toEqual(["severity:high ", 14]);
  expect(withOffer("result:(den", [8, 11], "denied")).toEqual(["result:(denied", 14]);
});

test("filters and a query become one query", () => {
  const fields: [string, string[]][] = [
    ["result", ["denied", "error"]],
    ["agent_id", ["two words"]],
    ["action", ["payments.*"]],
    ["source", []],
  ];
  expect(joined(fields, "-severity:low", undefined, "")).toBe(
    'result:(denied,error) agent_id:"two words" action:payments.* -severity:low',
  );
});
