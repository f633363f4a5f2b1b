// Which times the pages of the list ask for.
import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { deliveries } from "./list";

const asked: { from: string; cursor?: string }[] = [];

vi.mock("../api/client", () => ({
  answer: (page: unknown) => page,
  api: {
    GET: async (_path: string, { params }: { params: { query: { from: string; cursor?: string } } }) => {
      asked.push(params.query);
      vi.advanceTimersByTime(1_500);
      return { data: [], next_cursor: "more" };
    },
  },
}));

test("the next pages are of the very time of the first, however late they are asked for", async () => {
  vi.useFakeTimers();
  const range = { last: "24h" };
  await new QueryClient().fetchInfiniteQuery({
    ...deliveries({ filters: {}, state: [], range }),
    pages: 3,
  });
  expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, "more", "more"]);
  expect(new Set(asked.map(({ from }) => from)).size).toBe(1);
  vi.useRealTimers();
});
