//! Audit events: taken in ([`ingest`], [`validate`]) or made by ourselves (`journal::system_events`, [`disobeyed_decisions`]), indexed ([`indexer`]), listed
//! ([`list`]), shown as they come ([`stream`], [`tail`]), counted ([`stats`] over a time ([`stats_range`]), [`facets`] by what they
//! have, with a [`histogram`]), kept for a time ([`retention`])
//! and moved to files ([`archive`]).

pub mod archive;
pub mod disobeyed_decisions;
pub mod facets;
mod histogram;
pub mod indexer;
pub mod ingest;
mod ingest_params;
pub mod journal_size;
pub mod list;
pub(crate) mod missing;
pub mod nearly_full;
pub mod query;
pub(crate) mod retention;
pub mod schema;
pub mod stats;
pub(crate) mod stats_range;
pub mod stream;
pub mod tail;
mod tail_queue;
mod validate;
