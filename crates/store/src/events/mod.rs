//! Audit events: written by the indexer, read by people.

mod index;
mod list;

pub use index::{EventIndex, EventRow};
pub use list::StoredEvent;
