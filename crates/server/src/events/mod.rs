//! Audit events: taken in, indexed, listed, and shown as they come.

pub mod archive;
pub mod index;
pub mod ingest;
mod ingest_params;
mod judge;
pub mod list;
pub mod own;
pub(crate) mod retention;
pub mod schema;
pub mod sse;
pub mod stats;
pub mod stream;
pub mod tail;
pub mod turns;
pub mod wanted;
