//! Exports: the trail, or the part of it that a filter asks for, as a file.
//!
//! An export is asked for ([`create`]), with a body that [`request`] reads. [`plan`] fixes what is in it:
//! what was accepted before it was asked for, and never the event that says so. [`source`] reads that,
//! newest first, from the database and, for days that have left it, from the archive's files. It is
//! either sent as it is read ([`stream`]), in constant memory and no faster than the client takes it,
//! within the bounds of [`EXPORTS`]; or made in the background by [`worker`], as files in object storage:
//! [`jobs`] shows how far it is, [`links`] gives the files to whoever has the link, [`cleanup`] deletes them.
//!
//! An export of [`format`] `bundle` is another thing: the organization's transparency log with what its leaves commit to, in
//! the log's order ([`bundle`]).
//!
//! | what | is guaranteed |
//! |---|---|
//! | accepted before the export was asked for | in it, once |
//! | accepted while it is made | in it or not, at most once |
//! | cut off | noticed: by the last line, the end of the document, the footer, the trailers |
//!
//! An export is an event of the trail itself (`event_type` `export`), recorded before its first byte. One
//! that is being sent ends when its key is revoked or its session ends. One that is made in the background
//! goes on: it was allowed when it was asked for, and its links are only shown to who may export.

mod bundle;
pub mod cleanup;
pub mod create;
pub(crate) mod format;
pub mod jobs;
pub mod links;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod source;
mod stream;
pub mod worker;

pub(crate) use bundle::Kept;

use crate::edge::slots::Bounds;

/// For an organization, one that runs and one that was begun again because the first seemed lost. Each
/// holds some 10 MB, or 35 where events suddenly grow, and may keep a core busy compressing.
pub const EXPORTS: Bounds = Bounds {
    per_org: 2,
    per_node: 8,
    what: "exports",
    instead: ", or have this one made in the background (`\"async\": true`)",
};
