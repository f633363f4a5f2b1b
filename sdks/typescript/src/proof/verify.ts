// Checks that an export of the format `bundle` is complete, unchanged and in order. Needs no server and no network.
import { Check } from "./check.js";
import { SignedCheckpoint } from "./checkpoints.js";
import { VerifierKey } from "./keys.js";
import { Lines } from "./lines.js";
import type { Report } from "./report.js";
import { pieces, type Source } from "./source.js";

const PROGRESS_EVERY_BYTES = 1024 * 1024;

export interface VerifyExportOptions {
  /** The log's keys, from somewhere else than the file. Without any, the file's own are used, and the report says so. */
  keys?: string[];
  /** Witnesses' keys, each of which must have cosigned. */
  witnesses?: string[];
  /** The text of an older checkpoint of the same log: the file's must continue it. */
  since?: string;
  /** Is told how many bytes of the source were read, about every MiB. */
  onProgress?: (bytes: number) => void;
}

/**
 * Checks an export of the trail offline. The file may be compressed with gzip, is read piece by piece, and is never whole in
 * memory. Throws {@link Malformed} if a key, a witness or `since` cannot be read; what is wrong with the file is in the report.
 */
export async function verifyExport(source: Source, options: VerifyExportOptions = {}): Promise<Report> {
  const { keys = [], witnesses = [], since, onProgress } = options;
  const check = new Check({
    keys: keys.map(VerifierKey.parse),
    witnesses: witnesses.map(VerifierKey.parse),
    since: since === undefined ? undefined : SignedCheckpoint.parse(since),
  });
  const lines = new Lines((line) => check.feed(line));
  let [read, told] = [0, 0];
  const each = pieces(source, (bytes) => {
    read = bytes;
  });
  while (!check.isDone) {
    const next = await each.next().catch((error: unknown) => {
      check.unreadable(error instanceof Error ? error.message : String(error));
    });
    if (!next || next.done) break;
    lines.push(next.value);
    if (read - told < PROGRESS_EVERY_BYTES) continue;
    told = read;
    onProgress?.(read);
  }
  await each.return(undefined);
  lines.end();
  check.end();
  onProgress?.(read);
  return check.report;
}
