//! Audit events: written by the indexer, read by people.

pub mod archive;
mod counts;
pub mod export;
mod index;
mod list;
mod look;
mod sparse;
mod walk;
mod write;

pub use counts::{CountedBy, Counts, CountsWanted, Grain, MINUTES_KEPT};
pub use index::{EventIndex, EventRow};
pub use list::{Budget, EventsFound, EventsWanted, Order, StoredEvent};
