// Checks an export line by line, from the header to the end.
import type { Checkpoint } from "./checkpoints.js";
import { isSame, toBase64 } from "./encoding.js";
import { Erasures } from "./erasures.js";
import { readHeader } from "./header.js";
import { EVENT, encodeId } from "./ids.js";
import { Committing, isSupported, recordOf, timeOf } from "./leaf.js";
import { Leaves } from "./leaves.js";
import { type Line, readLine } from "./line.js";
import { Malformed } from "./malformed.js";
import { isNamedByItsDigest } from "./policy.js";
import { check as checkRecord } from "./records.js";
import { type Counts, emptyReport, found, type Report, remark } from "./report.js";
import { type Edge, emptyRoot, leafHash, Range } from "./tree.js";
import { continued, type Trust, vouchFor } from "./vouch.js";

/** What follows would mean nothing. */
class Stopped extends Error {}

/** What the leaves are appended to, and what they must come to. */
interface Tree {
  range: Range;
  edge: Edge;
  /** How many leaves the tree has so far. */
  size: number;
  after: Uint8Array[];
  root: Uint8Array;
}

/** A check that is under way: feed it every line, then say that the file ended. */
export class Check {
  readonly report: Report = emptyReport();
  /** Whether reading on would change nothing. */
  isDone = false;
  readonly #trust: Trust;
  #line = 0;
  #tree: Tree | undefined;
  #hasEnded = false;
  #since: Checkpoint | undefined;
  /** The root that the log had when it was as large as `#since`. */
  #sinceRoot: Uint8Array | undefined;
  readonly #leaves = new Leaves();
  readonly #erasures = new Erasures();
  readonly #committing = new Committing();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #latestGoneMs: number | undefined;

  constructor(trust: Trust) {
    this.#trust = trust;
  }

  /** Takes a line without its newline; or, in place of one, why it is none. */
  feed(line: Uint8Array | "unfinished" | "too_long"): void {
    this.#unlessStopped(() => {
      this.#line += 1;
      const isWhole = typeof line !== "string";
      if (this.#line === 1) {
        if (!isWhole) this.#stop("not_an_export");
        this.#header(this.#textOf(line));
      } else if (this.#hasEnded) {
        this.#stop("after_end");
      } else if (isWhole) {
        this.#body(this.#textOf(line));
      } else if (line === "too_long") {
        this.#stop("line_too_long");
      } else {
        this.#stop("cut_off", "", null);
      }
    });
  }

  /** The file ends here. */
  end(): void {
    this.#unlessStopped(() => {
      if (this.#line === 0) this.#stop("not_an_export", "", 1);
      if (!this.#hasEnded) this.#stop("cut_off", "", null);
      this.#judge();
    });
    this.isDone = true;
  }

  /** The file cannot be read further. */
  unreadable(why: string): void {
    this.#unlessStopped(() => this.#stop("unreadable", why, null));
  }

  #unlessStopped(act: () => void): void {
    if (this.isDone) return;
    try {
      act();
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      this.isDone = true;
    }
  }

  /** Undefined if it is not UTF-8. */
  #textOf(line: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(line);
    } catch {
      return undefined;
    }
  }

  // --- the header ---

  #header(line: string | undefined): void {
    const { report } = this;
    try {
      const header = readHeader(line);
      const { claimed } = header.checkpoint;
      const { first, end } = header;
      const root = toBase64(claimed.root);
      Object.assign(report, { madeAt: header.madeAt, filter: header.filter, origin: claimed.origin });
      Object.assign(report, { first, end, size: Number(claimed.size), root, checkpoint: header.note });
      const keys = vouchFor(header, this.#trust, report);
      const range = new Range(BigInt(first), BigInt(end), claimed.size);
      this.#since = continued(this.#trust, keys, claimed, range, report);
      range.checkAfter(header.after);
      const edge = range.start(header.before);
      this.#tree = { range, edge, size: first, after: header.after, root: claimed.root };
      // The whole tree and the empty one need no leaves.
      if (this.#since?.size === claimed.size) this.#sinceRoot = claimed.root;
      else if (this.#since?.size === 0n) this.#sinceRoot = emptyRoot();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.#stop(error.code, error.message);
    }
    this.#watch();
  }

  // --- the lines after it ---

  #body(text: string | undefined): void {
    const line = text === undefined ? undefined : readLine(text);
    if (line === undefined) this.#stop("line_malformed");
    const { counts } = this.report;
    switch (line.is) {
      case "record":
        counts[line.kind === EVENT ? "events" : "attempts"] += 1;
        this.#leaf(line.leaf, true);
        this.#record(line);
        break;
      case "erased":
        counts.erased += 1;
        this.#leaf(line.leaf, false);
        this.#erasures.claimed(this.#line, recordOf(line.leaf), line.by);
        break;
      case "gone": {
        counts.gone += 1;
        this.#leaf(line.leaf, false);
        const receivedMs = timeOf(line.leaf, 1);
        this.#latestGoneMs = Math.max(receivedMs, this.#latestGoneMs ?? receivedMs);
        break;
      }
      case "missing":
        this.#leaf(line.leaf, false);
        this.#found("record_missing", encodeId(recordOf(line.leaf)));
        break;
      case "withheld":
        counts.withheld += line.hashes.length;
        for (const hash of line.hashes) this.#append(hash);
        break;
      case "policy":
        this.report.policies += 1;
        if (!isNamedByItsDigest(line.policy)) this.#found("policy_mismatch");
        break;
      case "end":
        if (!areSame(line.counts, counts)) this.#found("counts_wrong");
        this.#hasEnded = true;
    }
  }

  #record({ kind, leaf, salt, stored }: Line & { is: "record" }): void {
    try {
      if (leaf[1] !== kind) throw new Malformed("kind_mismatch", "");
      if (!this.#committing.isTo(leaf, salt, stored)) throw new Malformed("commitment_mismatch", "");
      const erased = checkRecord(leaf, stored);
      if (erased.length > 0) this.#erasures.told(recordOf(leaf), erased);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.#found(error.code, error.message);
    }
  }

  #leaf(leaf: Uint8Array, isShown: boolean): void {
    if (!isSupported(leaf)) this.#stop("leaf_unsupported");
    this.#append(leafHash(leaf));
    const record = recordOf(leaf);
    if (!this.#leaves.add(record, isShown)) this.#found("leaf_twice", encodeId(record));
  }

  #append(leaf: Uint8Array): void {
    const tree = this.#tree as Tree;
    this.report.counts.leaves += 1;
    if (tree.size === this.report.end) this.#stop("leaves_surplus");
    tree.edge.append(leaf);
    tree.size += 1;
    this.#watch();
  }

  /** Remembers the root if the tree is as large as it was at the earlier checkpoint. */
  #watch(): void {
    if (this.#since === undefined || this.#sinceRoot !== undefined || this.#tree === undefined) return;
    if (BigInt(this.#tree.size) === this.#since.size) this.#sinceRoot = this.#tree.edge.root();
  }

  // --- the end ---

  #judge(): void {
    const { range, edge, size, after, root } = this.#tree as Tree;
    const { first, end, counts } = this.report;
    if (size < end) this.#stop("leaves_missing", `${end - first} announced, ${size - first} found`, null);
    if (!isSame(range.finish(edge, after), root)) this.#found("root_mismatch", "", null);
    if (this.#since !== undefined && !isSame(this.#sinceRoot ?? emptyRoot(), this.#since.root)) {
      this.#found("inconsistent", "", null);
    }
    const isComplete = range.end === range.size && counts.withheld === 0;
    const erasures = this.#erasures.judge(this.#leaves, isComplete);
    for (const { line, code, id } of erasures.found) this.#found(code, id, line);
    this.#remark(range, erasures.unchecked);
  }

  #remark({ begin, end, size }: Range, erasuresUnchecked: number): void {
    const { report } = this;
    const { withheld, gone } = report.counts;
    if (begin > 0n || end < size) remark(report, "part_of_log", `${begin} to ${end} of ${size}`);
    if (withheld > 0) remark(report, "withheld", `${withheld}`);
    if (this.#latestGoneMs !== undefined) {
      remark(report, "gone", `${gone}, the latest of ${dateOf(this.#latestGoneMs)}`);
    }
    if (erasuresUnchecked > 0) remark(report, "erasures_unchecked", `${erasuresUnchecked}`);
  }

  /** In the line that is being read, unless told otherwise. */
  #found(code: string, detail = "", line: number | null = this.#line): void {
    found(this.report, line, code, detail);
  }

  #stop(code: string, detail = "", line: number | null = this.#line): never {
    this.#found(code, detail, line);
    throw new Stopped(code);
  }
}

function areSame(one: Counts, other: Counts): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A date, if there is one for it: a leaf may say any number. */
function dateOf(unixMs: number): string {
  const at = new Date(unixMs);
  return Number.isNaN(at.getTime()) ? `${unixMs} ms since 1970` : at.toISOString();
}
