// The steps of a rotation of signing secrets.
import { expect, test } from "vitest";
import type { Body } from "../api/client";
import { stepOf } from "./rotation";

const secret = (state: Body<"SecretState">) => ({ id: "sec_1", state, created_at: "2026-11-15T22:00:00Z" });

test("a rotation goes from nothing by staged to overlapping and back to nothing", () => {
  expect(stepOf({ data: [secret("current")], initial: null })).toBe(0);
  expect(stepOf({ data: [secret("staged"), secret("current")], initial: null })).toBe(1);
  expect(stepOf({ data: [secret("current"), secret("previous")], initial: null })).toBe(2);
  expect(stepOf({ data: [secret("current"), secret("dropped")], initial: null })).toBe(0);
});

test("the first secret overlaps with the initial one", () => {
  expect(stepOf({ data: [], initial: { state: "current" } })).toBe(0);
  expect(stepOf({ data: [secret("current")], initial: { state: "previous" } })).toBe(2);
});
