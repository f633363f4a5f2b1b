// At which field of a form a fault is said.
import { expect, test } from "vitest";
import { Problem } from "../api/problem";
import { faultsByField } from "./faults";

const fault = (pointer: string, detail: string) => ({ code: "FIELD_INVALID" as const, pointer, detail });
const refusal = (...errors: ReturnType<typeof fault>[]) =>
  new Problem(422, { code: "VALIDATION_FAILED", detail: "No.", errors });

test("each fault is said at the field it names, those of a list at the list", () => {
  const error = refusal(
    fault("/name", "Too long."),
    fault("/scopes/0", "Unknown."),
    fault("/scopes/1", "Odd."),
  );
  expect(faultsByField(error, ["name", "scopes"])).toEqual({
    errors: { name: "Too long.", scopes: "Unknown. Odd." },
    isAllSaid: true,
  });
});

test("what the form has no field for has to be shown otherwise", () => {
  const error = refusal(fault("/name", "Too long."), fault("/match/x", "Odd."));
  expect(faultsByField(error, ["name"])).toEqual({ errors: { name: "Too long." }, isAllSaid: false });
});

test("a refusal without faults, and no refusal at all, belong to no field", () => {
  expect(faultsByField(refusal(), ["name"])).toEqual({ errors: {}, isAllSaid: false });
  expect(faultsByField(new TypeError("offline"), ["name"])).toEqual({ errors: {}, isAllSaid: false });
});
