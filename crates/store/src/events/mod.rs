//! Audit events: written by the indexer, read by people.

pub mod archive;
pub mod export;
mod index;
mod list;

pub use index::{EventIndex, EventRow};
pub use list::StoredEvent;
