// What a check has to say.
import { NOT_PROVEN, NOT_TO_BE_CHECKED, REMARKS } from "./findings.js";

export type Verdict = "proven" | "not_proven" | "cannot_be_checked";

/** What is wrong with a file is clear before; the rest is counted. */
const FINDINGS_MAX = 100;

/** Something is wrong. */
export interface Finding {
  /** From 1; null if it is not in one line. */
  line: number | null;
  /** Stable, and the same in every language's verifier. */
  code: string;
  message: string;
}

/** Something to know beside the verdict. Nothing is wrong. */
export interface Remark {
  code: string;
  message: string;
}

/** How many leaves there are of each kind; `leaves` is all of them. */
export interface Counts {
  leaves: number;
  events: number;
  attempts: number;
  erased: number;
  gone: number;
  withheld: number;
}

/** A witness's word, and when it gave it, in seconds since 1970. */
export interface Cosigned {
  witness: string;
  unixSeconds: number;
}

/** The outcome of a check. Everything but the verdict and the findings is as far as the check came. */
export interface Report {
  verdict: Verdict;
  /** In the order in which they were found; at most 100. */
  findings: Finding[];
  findingsLeftOut: number;
  remarks: Remark[];
  /** Which log; undefined if the header could not be read. */
  origin?: string;
  /** The leaves from `first` up to, not including, `end`, of a tree of `size`. */
  first: number;
  end: number;
  size: number;
  /** The checkpoint's root hash, in base64. */
  root?: string;
  counts: Counts;
  policies: number;
  /** The keys that signed the checkpoint, out of those that are trusted. */
  signedBy: string[];
  cosigned: Cosigned[];
  /** The checkpoint's note, to be kept and given as `since` next time. */
  checkpoint?: string;
  /** When the file says that it was made. Nothing vouches for it. */
  madeAt?: string;
  /** What the file says was asked for. Nothing vouches for it. */
  filter?: string | null;
}

export function emptyReport(): Report {
  return {
    verdict: "proven",
    findings: [],
    findingsLeftOut: 0,
    remarks: [],
    first: 0,
    end: 0,
    size: 0,
    counts: { leaves: 0, events: 0, attempts: 0, erased: 0, gone: 0, withheld: 0 },
    policies: 0,
    signedBy: [],
    cosigned: [],
  };
}

/** A file of which something is wrong for certain is not proven, whatever else could not be checked. */
export function found(report: Report, line: number | null, code: string, detail = ""): void {
  const unchecked = NOT_TO_BE_CHECKED[code];
  if (report.verdict !== "not_proven") {
    report.verdict = unchecked === undefined ? "not_proven" : "cannot_be_checked";
  }
  if (report.findings.length < FINDINGS_MAX) {
    report.findings.push({ line, code, message: sentence(unchecked ?? NOT_PROVEN[code] ?? code, detail) });
  } else {
    report.findingsLeftOut += 1;
  }
}

export function remark(report: Report, code: string, detail = ""): void {
  report.remarks.push({ code, message: sentence(REMARKS[code] ?? code, detail) });
}

function sentence(message: string, detail: string): string {
  return detail === "" ? message : `${message} (${detail})`;
}
