// The exports on which every verifier must agree (libs/trail-proof/vectors), and how a file may be handed over.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  type Counts,
  leafOf,
  Malformed,
  type Report,
  type Verdict,
  verifyExport,
} from "../src/proof/index.js";

interface Case {
  name: string;
  lines: string[];
  unfinished?: string;
  keys: string[];
  witnesses: string[];
  since: string | null;
  expect: {
    verdict: Verdict;
    findings: { line: number | null; code: string }[];
    remarks: string[];
    counts?: Counts;
    signed_by?: string[];
    cosigned?: { witness: string; unix_seconds: number }[];
  };
}

function casesOf(verdict: Verdict): Case[] {
  const url = new URL(`../../../libs/trail-proof/vectors/${verdict}.json`, import.meta.url);
  const { version, about, cases } = JSON.parse(readFileSync(url, "utf8"));
  expect([version, about]).toEqual([1, verdict]);
  expect(cases.length).toBeGreaterThan(20);
  return cases;
}

const fileOf = ({ lines, unfinished = "" }: Case) => lines.map((line) => `${line}\n`).join("") + unfinished;

const optionsOf = ({ keys, witnesses, since }: Case) => ({ keys, witnesses, since: since ?? undefined });

const outcomeOf = ({ verdict, findings, remarks }: Report) => ({
  verdict,
  findings: findings.map(({ line, code }) => ({ line, code })),
  remarks: remarks.map(({ code }) => code),
});

for (const verdict of ["proven", "not_proven", "cannot_be_checked"] as const) {
  describe(verdict, () => {
    test.each(casesOf(verdict))("$name", async (given) => {
      const report = await verifyExport(fileOf(given), optionsOf(given));
      const { findings, remarks, counts, signed_by, cosigned } = given.expect;
      expect(outcomeOf(report)).toEqual({ verdict, findings, remarks });
      for (const { message } of [...report.findings, ...report.remarks])
        expect(message).toMatch(/^[a-z].{20}/);
      if (counts === undefined) return;
      expect(report.counts).toEqual(counts);
      expect(report.signedBy).toEqual(signed_by);
      const said = report.cosigned.map(({ witness, unixSeconds }) => ({
        witness,
        unix_seconds: unixSeconds,
      }));
      expect(said).toEqual(cosigned);
    });
  });
}

const [FIRST] = casesOf("proven") as [Case];
const BYTES = new TextEncoder().encode(fileOf(FIRST));

function* inPieces(bytes: Uint8Array, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

test.each([
  ["bytes", BYTES],
  ["one byte after the other", [...inPieces(BYTES, 1)]],
  [
    "pieces that come later",
    (async function* () {
      yield* inPieces(BYTES, 7);
    })(),
  ],
  ["a file of a browser", new Blob([BYTES])],
  ["a stream", new Blob([BYTES]).stream() as ReadableStream<Uint8Array>],
  ["gzip, in pieces", [...inPieces(gzipSync(BYTES), 5)]],
])("a file may be %s", async (_, source) => {
  const report = await verifyExport(source, optionsOf(FIRST));
  expect(outcomeOf(report)).toEqual({ verdict: "proven", findings: [], remarks: FIRST.expect.remarks });
});

test.each([
  ["a broken archive", gzipSync(BYTES).subarray(0, -9)],
  ["Zstandard", Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0)],
  [
    "a disk that fails",
    (async function* () {
      yield BYTES.subarray(0, 2_000);
      throw new Error("disk");
    })(),
  ],
])("%s cannot be checked", async (_, source) => {
  const report = await verifyExport(source, optionsOf(FIRST));
  expect(outcomeOf(report)).toMatchObject({
    verdict: "cannot_be_checked",
    findings: [{ line: null, code: "unreadable" }],
  });
});

test("nothing is not an export", async () => {
  const report = await verifyExport("");
  expect(outcomeOf(report).findings).toEqual([{ line: 1, code: "not_an_export" }]);
});

test("a line of 4 MiB is read, and a longer one is not kept", async () => {
  const header = `${FIRST.lines[0]}\n`;
  const ofLength = (bytes: number) =>
    verifyExport(
      [header, "x".repeat(bytes), "\n"].map((one) => Buffer.from(one)),
      optionsOf(FIRST),
    );
  const codes = async (bytes: number) => (await ofLength(bytes)).findings.map(({ code }) => code);
  expect(await codes(4 * 1024 * 1024)).toEqual(["line_malformed"]);
  expect(await codes(4 * 1024 * 1024 + 1)).toEqual(["line_too_long"]);
});

test("progress is told in bytes of the file, and up to its end", async () => {
  const told: number[] = [];
  await verifyExport(inPieces(BYTES, 100), { ...optionsOf(FIRST), onProgress: (bytes) => told.push(bytes) });
  expect(told.at(-1)).toBe(BYTES.length);
});

test("what the auditor gives must be readable", async () => {
  const refused = (options: object) => verifyExport(BYTES, options).catch((error) => error);
  for (const options of [{ keys: ["x"] }, { witnesses: ["x+y+z"] }, { since: "no note" }]) {
    expect(await refused(options)).toBeInstanceOf(Malformed);
  }
});

test.each(["event", "attempt"] as const)(
  "the leaf of an %s follows from what was stored, and its salt",
  (kind) => {
    const lines = casesOf("proven").flatMap((one) => one.lines.slice(1));
    const records = lines.map((line) => JSON.parse(line)).filter((line) => kind in line);
    expect(records.length).toBeGreaterThan(5);
    for (const { leaf, salt, [kind]: stored } of records) {
      expect(Buffer.from(leafOf(kind, stored, Buffer.from(salt, "base64"))).toString("base64")).toBe(leaf);
    }
    expect(() => leafOf(kind, "{}", new Uint8Array(16))).toThrow(Malformed);
  },
);

test("the checkpoint of a report can be kept and given next time", async () => {
  const { checkpoint } = await verifyExport(BYTES, optionsOf(FIRST));
  const report = await verifyExport(BYTES, { ...optionsOf(FIRST), since: checkpoint });
  expect(report.verdict).toBe("proven");
});
