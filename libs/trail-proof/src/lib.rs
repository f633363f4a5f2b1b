//! What the leaves of a Watchbell trail say.
//!
//! Each organization has one transparency log. Its leaves are the events of the trail and the attempts to deliver alerts, in the
//! order in which they were recorded. A leaf does not hold what it proves, only a salted hash of it ([`leaf`]): so a log can
//! be shown to anybody, and what is erased leaves every proof valid.

pub mod attempt;
pub mod export;
pub mod leaf;

// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
