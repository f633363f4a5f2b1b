//! Alert rules: made by people, tried on what is stored, matched against every event.
//!
//! [`rules`] are the handlers; [`body`] is what they take and answer, [`query`] which page of a list. Every
//! change goes through [`change`], is kept as one of the rule's [`versions`], and is told to the trail by
//! [`audit_events`]. The crate `matching` turns events into deliveries. Before a rule is trusted it can be tried: on one
//! event ([`test_rule`]), on the newest ([`preview`]), on the trail ([`backtest`]), on its endpoint ([`trigger`]); and be made from an event
//! ([`suggest`]).

mod audit_events;
pub mod backtest;
mod body;
pub(crate) mod change;
pub(crate) mod load_inputs;
pub mod preview;
mod query;
pub mod rules;
pub mod suggest;
pub mod test_rule;
pub mod trigger;
pub mod versions;
