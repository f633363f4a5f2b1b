//! Erasures: events whose bytes and salts an owner had deleted.
//!
//! Asked for and looked at by customers ([`list`]), worked on by nodes ([`lease`]) a page at a time ([`page`]). Of each erased
//! event a tombstone remains ([`tombstones`]), so that nothing that fills tables from the journal brings it back, and a day
//! that is put back into the table comes without it ([`again`]); files of the archive are replaced by such as do not have it
//! ([`archive`]).

pub(crate) mod again;
pub(crate) mod archive;
mod lease;
mod list;
mod page;
pub(crate) mod tombstones;

pub use archive::FilesOfDay;
pub use lease::{ClaimedErasure, ErasurePage, Look};
pub use list::{ErasureRow, NewErasure, What};
