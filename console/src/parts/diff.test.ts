// How two texts are compared line by line.
import { expect, test } from "vitest";
import { hunks, lines } from "./diff";

const short = (before: string, after: string) =>
  lines(before, after).map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

test("a changed line is one that went and one that came", () => {
  expect(short("a\nb\nc", "a\nx\nc")).toEqual([" a", "-b", "+x", " c"]);
});

test("lines are numbered in both texts", () => {
  expect(lines("a\nc", "a\nb\nc")).toEqual([
    { kind: "same", text: "a", before: 1, after: 1 },
    { kind: "added", text: "b", after: 2 },
    { kind: "same", text: "c", before: 2, after: 3 },
  ]);
});

test("an empty text has no lines, and a line feed at the end starts none", () => {
  expect(short("", "")).toEqual([]);
  expect(short("", "a\n")).toEqual(["+a"]);
  expect(short("a\n", "a")).toEqual([" a"]);
});

test("what is inserted between repeated lines does not disturb them", () => {
  expect(short("}\n}\n}", "}\n{\n}\n}")).toEqual([" }", "+{", " }", " }"]);
});

test("whatever is compared, both texts can be read from the diff", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const text = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]);
  for (let round = 0; round < 500; round += 1) {
    const [before, after] = [text(), text()];
    const diff = lines(before.join("\n"), after.join("\n"));
    expect(diff.filter((line) => line.kind !== "added").map((line) => line.text)).toEqual(before);
    expect(diff.filter((line) => line.kind !== "removed").map((line) => line.text)).toEqual(after);
  }
});

test("texts too large for the table are shown as replaced where they differ", () => {
  const many = (name: string) => Array.from({ length: 2_500 }, (_, at) => `${name}${at}`).join("\n");
  const diff = lines(`same\n${many("a")}`, `same\n${many("b")}`);
  expect(diff[0]).toEqual({ kind: "same", text: "same", before: 1, after: 1 });
  expect(diff.length).toBe(5_001);
});

test("unchanged lines far from a change are left out and counted", () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");
  const shown = hunks(lines(before, before.replace("line 10", "other")), 2);
  expect(shown.map((line) => (line.kind === "left-out" ? line.count : line.kind[0]))).toEqual([
    8,
    "s",
    "s",
    "r",
    "a",
    "s",
    "s",
    7,
  ]);
});
