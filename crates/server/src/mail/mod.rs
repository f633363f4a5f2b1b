//! Mail to people: verify an address, choose a new password, accept an invitation, see to an endpoint, keep an organization.
//!
//! A handler hands a [`Letter`] to the [`Post`] and answers; it never waits for the mail server, and
//! what it answers does not depend on whether a mail goes out. Who the letter is for, and therefore
//! what it says, is looked up here, off the request's path: whether an address has an account shows
//! in nobody's answer and in nobody's waiting time.
//!
//! The queues are in memory and bounded: a letter is tried for some minutes and then given up, and a
//! process that ends gives up what it holds. Whoever waits for a lost letter asks again. A letter that
//! waits for its next try keeps nobody else's from being sent.
//!
//! One address gets so many mails of a kind a day (`limits.mails`), whoever causes them: people must not be
//! flooded by us, and what strangers can cause must not use up what others need.

mod queue;
mod retries;
mod sender;
mod text;

pub use queue::{Letter, Office, Post, Settings};
