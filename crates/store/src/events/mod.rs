//! Audit events: written and counted by the indexer ([`index`], [`write`], [`counts`]), listed ([`list`]), read in
//! part for people to see what there is ([`fields`], [`decisions`]), exported ([`export`]) and archived
//! ([`archive`]).

pub mod archive;
mod counts;
mod decisions;
pub mod export;
mod fields;
mod index;
mod list;
mod look;
mod sparse;
mod walk;
mod write;

pub use counts::{CountedBy, Counts, CountsWanted, Grain, MINUTES_KEPT, TypeCounts};
pub use decisions::DecisionMade;
pub use fields::{EventFields, Newest};
pub use index::{EventIndex, EventRow};
pub use list::{Budget, EventsFound, EventsWanted, Order, StoredEvent};
