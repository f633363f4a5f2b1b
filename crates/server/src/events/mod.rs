//! Audit events: taken in, indexed, listed.

pub mod export;
pub mod index;
pub mod ingest;
pub mod list;
pub(crate) mod retention;
pub mod schema;
