// The first line: the signed checkpoint, which of its leaves the file is about, and the roots of the subtrees around them.
import { SignedCheckpoint } from "./checkpoints.js";
import { bytes, isNumber, membersOf, objectIn } from "./line.js";
import { Malformed } from "./malformed.js";
import { HASH_BYTES } from "./tree.js";

/** A log has one key, and a second one while it is replaced. */
const KEYS_MAX = 16;
/** A tree of fewer than 2^63 leaves has no more subtrees on either side of a range. */
const HASHES_AROUND_MAX = 64;

/** What every version's header starts with. */
const START = '{"format":"watchbell-trail/';
const VERSION = 'v1",';
const MEMBERS = [
  "format",
  "made_at",
  "origin",
  "checkpoint",
  "keys",
  "first",
  "end",
  "filter",
  "before",
  "after",
];

/** What a file says of itself. Of this, only the checkpoint is signed. */
export interface Header {
  madeAt: string;
  origin: string;
  checkpoint: SignedCheckpoint;
  /** The checkpoint as text. */
  note: string;
  keys: string[];
  first: number;
  end: number;
  filter: string | null;
  before: Uint8Array[];
  after: Uint8Array[];
}

/** `line` is undefined if it is not text. */
export function readHeader(line: string | undefined): Header {
  if (!line?.startsWith(START)) throw new Malformed("not_an_export", "");
  if (!line.startsWith(VERSION, START.length)) throw new Malformed("version_unknown", "");
  const said = membersOf(objectIn(line), ...MEMBERS);
  const before = hashes(said?.before);
  const after = hashes(said?.after);
  const { made_at: madeAt, origin, checkpoint, keys, first, end, filter } = said ?? {};
  const isRead =
    isText(madeAt) &&
    isText(origin) &&
    isText(checkpoint) &&
    Array.isArray(keys) &&
    keys.length <= KEYS_MAX &&
    keys.every(isText) &&
    isNumber(first) &&
    isNumber(end) &&
    (filter === null || isText(filter)) &&
    before !== undefined &&
    after !== undefined;
  if (!isRead) throw new Malformed("header_malformed", "");
  return {
    madeAt,
    origin,
    checkpoint: SignedCheckpoint.parse(checkpoint),
    note: checkpoint,
    keys,
    first,
    end,
    filter,
    before,
    after,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function hashes(said: unknown): Uint8Array[] | undefined {
  if (!Array.isArray(said) || said.length > HASHES_AROUND_MAX) return undefined;
  const read = said.map((one) => bytes(one, HASH_BYTES));
  return read.every((hash) => hash !== undefined) ? read : undefined;
}
