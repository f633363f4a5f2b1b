// Who vouches for the checkpoint: the log's keys and the witnesses; and whether it continues one that the auditor kept.
import type { Checkpoint, SignedCheckpoint } from "./checkpoints.js";
import type { Header } from "./header.js";
import { LOG, VerifierKey } from "./keys.js";
import { Malformed } from "./malformed.js";
import { found, type Report, remark } from "./report.js";
import type { Range } from "./tree.js";

/** Whom the auditor believes. */
export interface Trust {
  keys: VerifierKey[];
  witnesses: VerifierKey[];
  /** A checkpoint that was kept: the file's must continue it. */
  since: SignedCheckpoint | undefined;
}

const HEADER_LINE = 1;

/** Reports who signed, and returns the keys that were used: the header's, if the auditor has none. */
export function vouchFor(header: Header, trust: Trust, report: Report): VerifierKey[] {
  const { claimed, note } = header.checkpoint;
  const fromFile = header.keys.map(supported).filter((key) => key !== undefined);
  if (trust.keys.length === 0) remark(report, "key_from_file");
  // A witness's key signs something else.
  const keys = (trust.keys.length === 0 ? fromFile : trust.keys).filter(({ type }) => type === LOG);
  if (keys.length === 0) throw new Malformed("key_unsupported", "");
  if (header.origin !== claimed.origin) {
    found(report, HEADER_LINE, "origin_mismatch", `${header.origin}, ${claimed.origin}`);
  }
  reporting(report, () => {
    report.signedBy = note.verify(keys).map(({ key }) => `${key}`);
  });
  if (trust.witnesses.length === 0) remark(report, "no_witness");
  for (const witness of trust.witnesses) {
    reporting(report, () => {
      const [cosigned] = header.checkpoint.cosignedBy([witness]);
      if (cosigned === undefined) throw new Malformed("witness_missing", witness.name);
      report.cosigned.push({ witness: `${witness}`, unixSeconds: Number(cosigned.timestamp) });
    });
  }
  return keys;
}

/** The earlier checkpoint, if the leaves must lead to its root. */
export function continued(
  { since }: Trust,
  keys: VerifierKey[],
  now: Checkpoint,
  range: Range,
  report: Report,
): Checkpoint | undefined {
  if (since === undefined) return undefined;
  const kept = since.claimed;
  const isFine = reporting(report, () => {
    if (kept.origin !== now.origin) throw new Malformed("since_origin_mismatch", kept.origin);
    try {
      since.note.verify(keys);
    } catch (error) {
      throw error instanceof Malformed ? new Malformed("since_not_signed", error.message) : error;
    }
    if (kept.size > now.size) throw new Malformed("rolled_back", `${kept.size} then, ${now.size} now`);
    const needsLeaves = kept.size !== 0n && kept.size !== now.size;
    if (needsLeaves && (kept.size < range.begin || kept.size > range.end)) {
      throw new Malformed("since_outside", `it has ${kept.size} leaves`);
    }
  });
  return isFine ? kept : undefined;
}

/** What is not believed is a finding, and the check goes on. */
function reporting(report: Report, check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    found(report, HEADER_LINE, error.code, error.message);
    return false;
  }
}

/** Keys of an unknown type are passed over, as their signatures are. */
function supported(key: string): VerifierKey | undefined {
  try {
    return VerifierKey.parse(key);
  } catch (error) {
    if (error instanceof Malformed && error.code === "key_unsupported") return undefined;
    throw error;
  }
}
