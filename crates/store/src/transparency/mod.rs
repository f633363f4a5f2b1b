//! The transparency log of each organization, as far as PostgreSQL knows it.
//!
//! Whoever writes an event or an attempt puts its leaf into the [`outbox`], in the same transaction: what is in the trail
//! is in the log, and nothing else is. The sequencer appends what waits there and moves the log's state ([`logs`]). Steps,
//! bundles and tiles are files, and are what counts: after a restore the state here catches up with them
//! ([`logs::Adopted`]). Exports look up the rows that leaves stand for ([`records`]). What witnesses cosigned is kept beside
//! the log ([`witnesses`]). Who may read a log is in [`access`].

mod access;
pub mod find;
pub mod keys;
pub mod lease;
mod leaves;
pub mod logs;
pub mod outbox;
mod records;
pub mod witnesses;

pub use leaves::Leaves;
pub use records::Record;
