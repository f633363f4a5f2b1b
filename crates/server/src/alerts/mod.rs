//! Alert rules: made by people, matched against every event.
//!
//! [`rules`] are the handlers; [`body`] is what they take and answer, [`wanted`] which page of a list. Every
//! change goes through [`change`], is kept as one of the rule's [`versions`], and is told to the trail by
//! [`history`]. [`matching`] turns events into deliveries.

mod body;
mod change;
pub mod history;
pub mod matching;
pub mod rules;
pub mod versions;
mod wanted;
