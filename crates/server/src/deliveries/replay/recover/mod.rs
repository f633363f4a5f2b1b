//! Recover: a rule's deliveries of a time once more, as a durable job.
//!
//! A job is asked for and looked at ([`request`]), and worked on by the `index` role ([`worker`]): page by page, so that
//! no number of deliveries is too many and matches of today need not wait behind those of the past. A worker that
//! dies is followed by another, which begins with the page that was under way. That the page's rounds began is one message of
//! the log, so all of them are on record or none; those that are there are queued again, all together, and make the messages
//! that the worker before may have made ([`journal::requeue`]).

pub mod request;
pub mod worker;
