// What Ctrl-K finds by name.
import { expect, test } from "vitest";
import { type Name, namesOf, receiversOf, viewOf } from "./names";

const named = (name: string): Name => ({ kind: "Alert rules", id: name, name, href: "/" });

test("names are found by any part of them, those that begin with it first, and not before somebody writes", () => {
  const names = ["Large payouts", "Denied payouts", "payouts.*", "Errors"].map(named);
  const found = (text: string, most = 10) => namesOf(names, text, most).map(({ name }) => name);
  expect(found("PAYOUTS")).toEqual(["payouts.*", "Large payouts", "Denied payouts"]);
  expect(found("payouts", 1)).toEqual(["payouts.*"]);
  expect(found(" ")).toEqual([]);
});

test("many names of one kind leave room for those of others", () => {
  const views = ["Pay 1", "Pay 2", "Pay 3"].map((name): Name => ({ ...named(name), kind: "Views" }));
  const found = namesOf([...views, named("Large payments")], "pay", 2);
  expect(found.map(({ name }) => name)).toEqual(["Pay 1", "Pay 2", "Large payments"]);
});

test("a view is told from another of its name by its list, and by whose it is", () => {
  const view = { id: "vie_1", name: "Denied", list: "decisions", search: {}, shared: true };
  const about = (shared: boolean) => viewOf({ ...view, shared } as Parameters<typeof viewOf>[0]).about;
  expect([about(true), about(false)]).toEqual(["Decisions, shared", "Decisions"]);
});

test("where rules send to is found by its URL, once, and leads to its deliveries", () => {
  const rules = ["https://a.example/x?y=1", "https://a.example/x?y=1", "https://b.example"].map((url) => ({
    url,
  }));
  expect(receiversOf(rules, [{ url: "https://b.example" }]).map(({ name, href }) => [name, href])).toEqual([
    ["https://a.example/x?y=1", `/deliveries?filter=${encodeURIComponent('url:"https://a.example/x?y=1"')}`],
  ]);
});
