// How counts are shown when they are exact, and when they are not.
import { expect, test } from "vitest";
import { inAll, inOrder, shown } from "./estimate";

test("an exact count is shown to the last digit", () => {
  expect(shown(1_842, { exact: true, counted: 100_624, estimate: 100_624 })).toBe("1,842");
});

test("what was counted in part is scaled, and says that it is about so many", () => {
  expect(shown(500, { exact: false, counted: 1_000, estimate: 24_690 })).toBe("≈ 12,300");
  expect(shown(0, { exact: false, counted: 0, estimate: 0 })).toBe("≈ 0");
});

test("a count of everything that may be off says so, and is not told to the last digit", () => {
  const widened = { exact: false, counted: 12_345, estimate: 12_345 };
  expect(shown(678, widened)).toBe("≈ 678");
  expect(inAll(widened, "event")).toBe("≈ 12,300 events");
  expect(inAll({ exact: true, counted: 1, estimate: 1 }, "event")).toBe("1 event");
});

test("severities are in the order of their gravity, whatever their counts", () => {
  const values = ["info", "high", "critical"].map((value, count) => ({ value, count }));
  expect(inOrder("severity", values).map(({ value }) => value)).toEqual(["critical", "high", "info"]);
  expect(inOrder("result", values)).toBe(values);
});
