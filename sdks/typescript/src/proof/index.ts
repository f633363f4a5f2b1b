// Checks an export of the trail, and the proof of a single record, offline: in Node, browsers and workers alike.
//
// `tree` is the Merkle tree of RFC 6962; `keys`, `notes`, `checkpoints` and `tlog-proof` are C2SP's formats. `line` reads a
// line of a file, `records` what an event says of itself; `check` brings them together and `report` is what comes out.
export { Checkpoint, SignedCheckpoint } from "./checkpoints.js";
export { VerifierKey } from "./keys.js";
export { leafOf, type RecordKind } from "./leaf.js";
export { Malformed } from "./malformed.js";
export { Note, type Signed } from "./notes.js";
export type { Cosigned, Counts, Finding, Remark, Report, Verdict } from "./report.js";
export type { Source } from "./source.js";
export { type Proven, TlogProof } from "./tlog-proof.js";
export { leafHash } from "./tree.js";
export { type VerifyExportOptions, verifyExport } from "./verify.js";
