// Values as they are typed and shown.
import { expect, test } from "vitest";
import { meant, turned, wordOf, wrongField } from "./words";

test("every value is typed as it is shown, also texts that look like numbers", () => {
  for (const value of ["denied", "500", "true", "null", '"quoted"', "", 500, 1.5, true, false, null]) {
    expect(meant(wordOf(value, false), false)).toBe(value);
  }
});

test("where a field holds texts only, everything is one", () => {
  expect(meant("500", true)).toBe("500");
  expect(wordOf("500", true)).toBe("500");
});

test("a field is one of an event, or inside metadata", () => {
  expect(wrongField("action")).toBeUndefined();
  expect(wrongField("metadata.customer.tier")).toBeUndefined();
  expect(wrongField("metadata.")).toContain("full name");
  expect(wrongField("region")).toContain("metadata.region");
});

test("changing the operator keeps what fits", () => {
  expect(turned({ op: "is", values: ["files.delete", "b"] }, "prefix")).toEqual({
    op: "prefix",
    text: "files.delete",
  });
  expect(turned({ op: "prefix", text: "a" }, "not")).toEqual({ op: "not", values: ["a"] });
  expect(turned({ op: "is", values: [5] }, "numeric")).toEqual({
    op: "numeric",
    bounds: [{ sign: ">=", number: 5 }],
  });
});
