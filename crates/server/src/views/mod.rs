//! Views: searches in events, decisions and deliveries that people keep under a name, for themselves or for everybody in
//! their organization.
//!
//! `domain::view` says what a search may have, [`manage`] is `/v1/views`. A shared view is what others rely on to find
//! things, so the trail is told of its changes as of those to accounts. Why it is so: docs/adr/0033.

pub mod manage;
