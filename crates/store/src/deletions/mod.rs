//! Organizations that are deleted: after a delay, a slice at a time, and never to come back.
//!
//! While it is only [scheduled](schedule) an organization goes on as before, and an owner can cancel. When its time has
//! come it gets a *tombstone*, and nobody can cancel any more. From then on whoever fills tables from the journal leaves
//! it out (`tombstones`), and one process at a time deletes its rows ([`purge`]), those first that let somebody in. The
//! row of the organization goes last: most tables refer to it, so what a request that was on its way still wrote keeps it
//! from going, and everything is looked at again.
//!
//! What refers to nothing could still be written after that, by whoever was let in before or saw no tombstone yet. So
//! all of it is looked at once more, a while after the row went: only then is it known that everybody was shut out, however
//! long nobody was there to do it. Nothing of this is in memory: whoever follows a process that died begins at the first
//! step and finds most of it done.

pub mod purge;
pub mod schedule;
pub(crate) mod tombstones;
