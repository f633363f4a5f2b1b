// The values that can be filtered by, and what their counts are a part of.
import { expect, test } from "vitest";
import { type Counts, valuesOf } from "./facets";

function countsOf(counted: number, agent_id: [string, number][]): Counts {
  const values = agent_id.map(([value, count]) => ({ value, count }));
  return { counted, fields: { agent_id: values } } as unknown as Counts;
}

test("a chosen value that is rare comes first, with the count and the coverage of its own query", () => {
  const own = countsOf(3, [["rare", 3]]);
  const others = countsOf(1_000, [["frequent", 900]]);
  expect(valuesOf("agent_id", ["rare"], own, others)).toEqual([
    { value: "rare", count: 3, of: own },
    { value: "frequent", count: 900, of: others },
  ]);
});

test("a chosen value that is frequent is counted as if it were not chosen", () => {
  const own = countsOf(2, [["frequent", 2]]);
  const others = countsOf(1_000, [["frequent", 900]]);
  expect(valuesOf("agent_id", ["frequent"], own, others)).toEqual([
    { value: "frequent", count: 900, of: others },
  ]);
});
