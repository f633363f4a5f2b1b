//! Audit events: taken in, indexed, listed.

pub mod export;
pub mod index;
pub mod ingest;
mod ingest_params;
mod judge;
pub mod list;
pub mod schema;
