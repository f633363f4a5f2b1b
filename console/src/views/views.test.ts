// What a view keeps of an address, and the address that opens it.
import { expect, test } from "vitest";
import { FILTERS as decisions } from "../decisions/model";
import { KEPT as deliveries } from "../deliveries/filter";
import { KEPT as events } from "../events/filter";
import { parseSearch } from "../search";
import { hrefOf, isSame, searchOf, type View } from "./views";

const view: View = {
  id: "vie_1",
  list: "events",
  name: "Denied",
  search: { filter: ["result:denied a&b"], hide: ["Agent", "Type"], last: ["7d"] },
  shared: false,
  created_by: "usr_1",
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

test("a view opens the search that it was saved from", () => {
  const href = hrefOf(view);
  expect(href.startsWith("/events?")).toBe(true);
  const address = parseSearch(href.slice(href.indexOf("?")));
  expect(address.view).toBe("vie_1");
  expect(searchOf(events, address)).toEqual(view.search);
});

test("what is only open at the moment is not kept, nor what another list has", () => {
  const address = parseSearch("?event=evt_1&view=vie_1&result=denied&state=failed&last=1h");
  expect(searchOf(events, address)).toEqual({ result: ["denied"], last: ["1h"] });
  expect(searchOf(deliveries, address)).toEqual({ state: ["failed"], last: ["1h"] });
  expect(searchOf(decisions, parseSearch(""))).toEqual({});
});

test("the order of parameters makes no other search, that of values does", () => {
  expect(isSame({ a: ["1"], b: ["2", "3"] }, { b: ["2", "3"], a: ["1"] })).toBe(true);
  expect(isSame({ b: ["2", "3"] }, { b: ["3", "2"] })).toBe(false);
  expect(isSame({ a: ["1"] }, {})).toBe(false);
});
