//! Erasures: an owner has the bytes and the salts of events deleted, and every proof of the trail stays valid.
//!
//! [`request`] takes the wish, [`worker`] works on it a page at a time. For each page:
//!
//! 1. [`search`] finds what is to be erased, and the page is written down, so that a crash changes nothing about it.
//! 2. [`trail_event`]: the event that names what is erased, by whom and why reaches the journal, and the store.
//! 3. In one transaction, each event gets a tombstone, its row goes, and so does what it was counted as.
//!
//! In the end, [`files`] writes the archive's files again without what was erased. Each step can be repeated. Meanwhile
//! and ever after, whoever writes events leaves out what has a tombstone, so nothing that is read from the journal again
//! brings an event back; exports that prove themselves name its erasure in its place.
//!
//! Why it is done so: docs/adr/0038-an-erasure-is-an-event-and-a-tombstone.md. What is not erased, because it is not here:
//! docs/how-to/erase.md.

mod files;
pub mod request;
mod search;
mod trail_event;
pub mod worker;
