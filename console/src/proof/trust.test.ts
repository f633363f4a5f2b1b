// What an auditor types, as it is read and refused.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { faultsOf, hasFaults, NO_TRUST, optionsOf } from "./trust";

const vectors = (name: string) =>
  JSON.parse(readFileSync(`../libs/transparency-log/vectors/${name}.json`, "utf8")).cases;
const [{ checkpoint, witnesses }] = vectors("cosignatures");
const [{ vkey: logKey }] = vectors("keys");
const [witness] = witnesses;

test("what is empty is left out, and keys are one to a line", () => {
  expect(optionsOf(NO_TRUST)).toEqual({ keys: [], witnesses: [], since: undefined });
  const given = { keys: ` ${logKey} \n\n`, witnesses: witnesses.join("\n"), since: "" };
  expect(optionsOf(given)).toEqual({ keys: [logKey], witnesses, since: undefined });
});

test("what was pasted with other line ends is the same checkpoint", () => {
  const since = `\r\n${checkpoint.trim().replaceAll("\n", "\r\n")}  `;
  expect(optionsOf({ ...NO_TRUST, since }).since).toBe(checkpoint);
  expect(hasFaults(faultsOf({ ...NO_TRUST, since }))).toBe(false);
});

test.each([
  ["no key", { keys: "nonsense" }, { keys: /^The key is not <name>/ }],
  ["a witness's key", { keys: witness }, { keys: /^This is a witness's key\. .*below\.$/ }],
  ["a log's key", { witnesses: logKey }, { witnesses: /^This is a log's key\. .*above\.$/ }],
  ["no checkpoint", { since: "7" }, { since: /^The note has no text.*\.$/ }],
])("%s is refused at its field", (_, given, expected) => {
  const faults = faultsOf({ ...NO_TRUST, ...given });
  const [[field, pattern]] = Object.entries(expected) as [[keyof typeof faults, RegExp]];
  expect(faults[field]).toMatch(pattern);
  expect(Object.values(faults).filter((fault) => fault !== undefined)).toHaveLength(1);
});
