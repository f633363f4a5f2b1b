//! Policies of organizations: their [`versions`], which never change, and where they stand ([`change`]).
//!
//! A change is one transaction: the standing, what the data plane must be told of it, and a note that the trail
//! is to be told too ([`change_outbox`]). Changes of an organization happen one after the other, and so are announced.

pub mod change;
pub mod change_outbox;
pub mod versions;

/// A number as PostgreSQL keeps it.
fn to_number(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn from_number(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
