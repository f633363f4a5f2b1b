//! An export that proves itself: a file from which anyone can tell, offline, whether it is complete, unchanged and in order.
//!
//! The file is text, one JSON object to a line:
//!
//! ```text
//! header      the signed checkpoint, which leaves of it the file is about, and the roots of the subtrees around them
//! leaves      one after the other: an event or an attempt with its salt, one that was erased, is past its retention or
//!             is missing, or bare hashes of what a filter withholds; in between, policies that decisions were made by
//! end         how many there were of each; a file without it was cut off
//! ```
//!
//! A line has one spelling: members in a fixed order, no spaces, strings escaped only where JSON requires it. So every
//! language's verifier reads the same thing, and there is no room for a second meaning.
//!
//! Who does what:
//!
//! - A server writes with a [`Writer`], which counts by itself.
//! - An auditor calls [`verify()`] with the keys they [`Trust`], and reads the [`Report`].
//! - Who also wants what is in the file calls [`verify_each()`], or feeds [`Lines`] to a [`Verifier`], one by one.
//!
//! What is proven: the leaves in the file are all the leaves of that range of the log that the checkpoint's signers vouch for,
//! and what the file shows of them is what was committed to. What is not: that something reached the log in the first place,
//! and what the header says of itself (when the file was made, and with which filter).
//!
//! Nothing but a file's ids is kept in memory, 18 bytes each.

mod erasures;
mod finding;
mod header;
pub mod ids;
mod json;
mod line;
mod lines;
pub mod policy;
mod record;
mod report;
mod since;
mod tree;
mod verify;
mod vouch;
mod write;

pub use finding::{Finding, Problem, Remark, Verdict};
pub use header::Header;
pub use line::{Counts, Line};
pub use lines::{Lines, Next};
pub use policy::Policy;
pub use report::{Cosigned, Covered, Report};
pub use verify::{Trust, Verifier, verify, verify_each};
pub use write::Writer;

/// How a file says what it is.
pub const FORMAT: &str = "watchbell-trail/v1";

/// An event has at most 32 KiB, and escaping makes at most six bytes of one. The rest is room for policies.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A log has one key, and a second one while it is replaced.
pub const KEYS_MAX: usize = 16;

/// 32 KiB of hashes to a line.
pub const WITHHELD_PER_LINE_MAX: usize = 1_024;

/// Whoever reads numbers as JavaScript does reads larger ones wrong.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// What is wrong with a file is clear before that many findings; the rest is counted.
pub const FINDINGS_MAX: usize = 100;
