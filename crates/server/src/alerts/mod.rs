//! Alert rules: made by people, tried on what is stored, matched against every event.
//!
//! [`rules`] are the handlers; [`body`] is what they take and answer, [`wanted`] which page of a list. Every
//! change goes through [`change`], is kept as one of the rule's [`versions`], and is told to the trail by
//! [`history`]. The crate `matching` turns events into deliveries. Before a rule is trusted it can be tried: on one
//! event ([`trial`]), on the newest ([`preview`]), on the trail ([`backtest`]), on its endpoint ([`trigger`]); and be made from an event
//! ([`suggest`]).

pub mod backtest;
mod body;
mod change;
pub(crate) mod given;
mod history;
pub mod preview;
pub mod rules;
pub mod suggest;
pub mod trial;
pub mod trigger;
pub mod versions;
mod wanted;
