//! Audit events: taken in ([`ingest`], [`validate`]) or made by ourselves (`journal::system_events`, [`integrity`]), indexed ([`indexer`]), listed
//! ([`list`]), shown as they come ([`stream`], [`tail`]), counted ([`stats`] over a time ([`over_time`]), [`facets`] by what they
//! have), kept for a time ([`retention`])
//! and moved to files ([`archive`]).

pub mod archive;
pub mod facets;
pub mod indexer;
pub mod ingest;
mod ingest_params;
pub mod integrity;
pub mod journal_size;
pub mod list;
pub mod nearly_full;
pub(crate) mod over_time;
pub mod query;
pub(crate) mod retention;
pub mod schema;
pub mod stats;
pub mod stream;
pub mod tail;
mod tail_queue;
mod validate;
