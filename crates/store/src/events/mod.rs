//! Audit events: written and counted by the indexer ([`index`], [`write`], [`counts`]), listed ([`list`]),
//! exported ([`export`]) and archived ([`archive`]).

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
