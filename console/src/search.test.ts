// How state is written into the address and read from it.
import { expect, test } from "vitest";
import { all, one, parseSearch, stringifySearch } from "./search";

test("what is written is what is read, repeated parameters and odd characters too", () => {
  const search = { q: "a b&c=ü", result: ["denied", "error"], from: "2026-01-01T00:00:00.000Z" };
  expect(parseSearch(stringifySearch(search))).toEqual(search);
});

test("nothing is written of what is not set", () => {
  expect(stringifySearch({ q: "", from: undefined, to: null, result: [] })).toBe("");
});

test("a parameter may be there never, once or often", () => {
  expect(all(undefined)).toEqual([]);
  expect(all("x")).toEqual(["x"]);
  expect(all(["x", "y"])).toEqual(["x", "y"]);
  expect(one(["x", "y"])).toBe("x");
});
