//! Audit events: taken in, indexed, listed.

pub mod archive;
pub mod index;
pub mod ingest;
pub mod list;
pub mod own;
pub mod schema;
