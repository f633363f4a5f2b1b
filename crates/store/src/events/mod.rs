//! Audit events: written and counted by the indexer ([`index`], [`write`], [`counts`]), listed ([`list`]), counted by
//! any filter ([`facets`]), read in part for people to see what was decided ([`decisions`]), exported ([`export`]) and
//! archived ([`archive`]).

pub mod archive;
pub(crate) mod counts;
mod decisions;
pub mod export;
mod facets;
mod index;
mod index_scan;
mod list;
mod page_scan;
mod skip_scan;
mod terms;
mod write;

pub use counts::{CountedBy, Counts, CountsQuery, Grain, MINUTES_KEPT, TypeCounts};
pub use decisions::{DecisionMade, Newest};
pub use facets::{Bar, EventFacets};
pub use index::{EventIndex, EventRow};
pub use list::{Budget, EventsFound, EventsQuery, Order, StoredEvent};
