//! Audit events: taken in ([`ingest`], [`judge`]) or made by ourselves (`journal::own`, [`integrity`]), indexed ([`index`]), listed
//! ([`list`]), shown as they come ([`stream`], [`tail`]), counted ([`stats`] over a time ([`over_time`]), [`facets`] by what they
//! have), kept for a time ([`retention`])
//! and moved to files ([`archive`]).

pub mod archive;
pub mod facets;
pub mod index;
pub mod ingest;
mod ingest_params;
pub mod integrity;
pub mod journal_size;
mod judge;
pub mod list;
pub mod nearly_full;
pub(crate) mod over_time;
pub(crate) mod retention;
pub mod schema;
pub mod stats;
pub mod stream;
pub mod tail;
mod tail_queue;
pub mod wanted;
