// How an address becomes a filter, and a filter words.
import { expect, test } from "vitest";
import { asQuery, filterOf, inWords, streamPath, termOf, toggled, without } from "./filter";

const search = {
  result: ["denied", "error"],
  agent_id: "billing-agent",
  q: "x y",
  event: "evt_1",
  last: "1h",
};

test("only what the API knows becomes part of a filter", () => {
  expect(filterOf(search, { from: "2026-01-01T00:00:00Z" })).toEqual({
    from: "2026-01-01T00:00:00Z",
    result: ["denied", "error"],
    agent_id: ["billing-agent"],
    q: "x y",
  });
});

test("a value that is chosen again is no longer chosen", () => {
  expect(toggled(search, "result", "denied")).toEqual(["error"]);
  expect(toggled(search, "result", "success")).toEqual(["denied", "error", "success"]);
});

test("a filter says in words what it lets through", () => {
  expect(inWords(filterOf(search, {}))).toEqual([
    "Agent is billing-agent",
    "Result is denied or error",
    "Contains “x y”",
  ]);
});

test("a filter is also one query", () => {
  expect(asQuery(filterOf({ ...search, filter: "-severity:low" }, { from: "2026-01-01T00:00:00Z" }))).toBe(
    'agent_id:billing-agent result:(denied,error) "x y" -severity:low',
  );
});

test("the other values of a field are counted without its own filter", () => {
  expect(without(filterOf(search, {}), "result")).toEqual({ agent_id: ["billing-agent"], q: "x y" });
});

test("the stream is asked for with the same filter", () => {
  expect(streamPath({ result: ["denied", "error"], q: "x y" })).toBe(
    "/v1/audit/events/stream?result=denied&result=error&q=x+y",
  );
});

test("a value that has no filter of its own becomes a term of the query, where one can say it", () => {
  const event = {
    resource: "file:1",
    metadata: { "order id": { note: "two words" }, items: [{ sku: "a" }] },
  };
  expect(termOf(event, ["resource"], "file:1")).toBe("resource:file:1");
  expect(termOf(event, ["metadata", "order id", "note"], "two words")).toBe(
    'metadata."order id".note:"two words"',
  );
  expect(termOf({ metadata: { tags: ["x"] } }, ["metadata", "tags"], "x")).toBe("metadata.tags:x");
  expect(termOf(event, ["metadata", "items", "sku"], "a")).toBeUndefined();
  expect(termOf(event, ["received_at"], "2026-11-15T10:00:00Z")).toBeUndefined();
});
