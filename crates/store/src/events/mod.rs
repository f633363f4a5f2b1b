//! Audit events: written by the indexer, read by people.

mod counts;
mod index;
mod list;
mod write;

pub use counts::MINUTES_KEPT;
pub use index::{EventIndex, EventRow};
pub use list::StoredEvent;
