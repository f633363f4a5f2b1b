// The cases on which every verifier of a transparency log must agree (libs/transparency-log/vectors), as far as an auditor
// meets them.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromBase64, toBase64 } from "../src/proof/encoding.js";
import { Checkpoint, Malformed, Note, SignedCheckpoint, TlogProof, VerifierKey } from "../src/proof/index.js";
import { Edge, emptyRoot, leafHash, nodeHash, Range, verifyInclusion } from "../src/proof/tree.js";

/** What a case gives and what must come out, under the names of its file. */
// biome-ignore lint/suspicious/noExplicitAny: each file has other members, and a wrong one fails its test.
type Case = Record<string, any> & { name: string; accepted: boolean; error?: string };

function casesOf(about: string): Case[] {
  const url = new URL(`../../../libs/transparency-log/vectors/${about}.json`, import.meta.url);
  const vectors = JSON.parse(readFileSync(url, "utf8"));
  expect([vectors.version, vectors.about]).toEqual([1, about]);
  return vectors.cases;
}

function bytes(text: string): Uint8Array {
  const read = fromBase64(text);
  if (read === undefined) throw new Error(`not base64: ${text}`);
  return read;
}

const allBytes = (texts: string[]) => texts.map(bytes);
const keysOf = (vkeys: string[]) => vkeys.map(VerifierKey.parse);
/** Numbers that JavaScript would read wrong are texts. */
const number = (value: number | string) => BigInt(value);

/** Runs each case of a file: `read` gives what must be in the case, or throws its error. */
function each(about: string, read: (given: Case) => Record<string, unknown>) {
  describe(about, () => {
    test.each(casesOf(about))("$name", (given) => {
      if (given.accepted) {
        const found = read(given);
        expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, given[name]])));
        return;
      }
      let refusal: unknown;
      try {
        read(given);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Malformed);
      expect((refusal as Malformed).code).toBe(given.error);
    });
  });
}

each("hashes", ({ empty, entry, left, right }) => {
  const hash = empty ? emptyRoot() : left ? nodeHash(bytes(left), bytes(right)) : leafHash(bytes(entry));
  return { hash: toBase64(hash) };
});

each("roots", ({ size }) => {
  const edge = new Edge();
  for (let at = 0; at < size; at += 1) edge.append(leafHash(new TextEncoder().encode(`${at}`)));
  return { root: toBase64(edge.root()) };
});

each("inclusion", ({ leaf, index, size, root, proof }) => {
  verifyInclusion(bytes(leaf), number(index), number(size), bytes(root), allBytes(proof));
  return {};
});

each("ranges", ({ begin, end, size, root, before, leaves, after }) => {
  const range = new Range(number(begin), number(end), number(size));
  range.checkAfter(allBytes(after));
  const edge = range.start(allBytes(before));
  for (const leaf of allBytes(leaves)) edge.append(leaf);
  if (BigInt(leaves.length) !== range.end - range.begin) throw new Malformed("hash_count_wrong", "leaves");
  const found = toBase64(range.finish(edge, allBytes(after)));
  if (found !== root) throw new Malformed("root_mismatch", found);
  return {};
});

each("keys", ({ vkey }) => {
  const key = VerifierKey.parse(vkey);
  expect(`${key}`).toBe(vkey);
  return { key_name: key.name, id: key.id, type: key.type, public: toBase64(key.publicKey) };
});

each("notes", ({ note, keys, note_prefix = "", note_prefix_count = 0 }) => {
  const read = Note.parse(note_prefix.repeat(note_prefix_count) + note);
  return { text: read.text, signed_by: read.verify(keysOf(keys)).map(({ key }) => `${key}`) };
});

each("checkpoints", ({ text, size: expected }) => {
  const { origin, size, root, extensions } = Checkpoint.parse(text);
  expect(size).toBe(number(expected));
  return { origin, root: toBase64(root), extensions };
});

each("cosignatures", ({ checkpoint, witnesses, cosigned }) => {
  const said = SignedCheckpoint.parse(checkpoint).cosignedBy(keysOf(witnesses));
  const expected = cosigned?.map((one: { key: string; timestamp: number | string }) => [
    one.key,
    number(one.timestamp),
  ]);
  expect(said.map(({ key, timestamp }) => [`${key}`, timestamp])).toEqual(expected);
  return {};
});

each("tlog_proofs", ({ proof, leaf, origin, log_keys, witnesses, index, size, extra }) => {
  const read = TlogProof.parse(proof);
  const proven = read.verify(bytes(leaf), origin, keysOf(log_keys), keysOf(witnesses));
  expect([proven.index, proven.size]).toEqual([number(index), number(size)]);
  expect(read.extra && toBase64(read.extra)).toEqual(extra);
  return { cosigned: proven.cosigned.map(({ key }) => `${key}`) };
});
