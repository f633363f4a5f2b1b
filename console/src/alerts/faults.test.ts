// What is said at the fields of a rule, and which event comes first beside them.
import { expect, test } from "vitest";
import { matchesEverything } from "./EveryEvent";
import { inWords, missingIn } from "./faults";
import { inOrder, type PreviewAnswer } from "./preview";

test("what is missing is said in words for who looks at the field", () => {
  const said = (draft: object) =>
    missingIn(draft as never).map(({ pointer, detail }) => `${pointer} ${detail}`);
  expect(said({ name: " ", url: "" })).toEqual([
    "/name Enter a name.",
    "/url Enter the URL to send alerts to.",
  ]);
  expect(said({ name: "a", url: "example.com" })).toEqual(["/url Enter a URL that starts with https://."]);
  expect(said({ name: "a", url: "https://example.com" })).toEqual([]);
  expect(inWords("`url` must be https, as `delivery.allow_http` is off.")).toBe(
    "This must be https, as delivery.allow_http is off.",
  );
});

test("a rule without a condition sends everything, unless it sends nothing", () => {
  expect([{}, { match: {} }, { match: {}, enabled: true }].map(matchesEverything)).toEqual([
    true,
    true,
    true,
  ]);
  const harmless = [
    { match: { result: ["denied"] } },
    { match: {}, enabled: false },
    { match: {}, shadow: true },
  ];
  expect(harmless.map(matchesEverything)).toEqual([false, false, false]);
});

test("the event that a rule is for comes first, once, and then those that match", () => {
  const tried = (id: string, matches: boolean) => ({ event: { id }, matches });
  const answer = {
    matched: 1,
    events: [tried("evt_1", false), tried("evt_2", true), tried("evt_3", false)],
    named: tried("evt_3", false),
  } as unknown as PreviewAnswer;
  expect(inOrder(answer).map(({ event }) => event.id)).toEqual(["evt_3", "evt_2", "evt_1"]);
});
