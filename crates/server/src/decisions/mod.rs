//! Decisions: may this agent do this? Asked before it acts, recorded before it is answered.
//!
//! A question comes through a door ([`decide`], [`authzen`], [`hook`]), becomes an [`ask`] that can be answered, is
//! evaluated by the organisation's policies from memory and put on [`record`], and then is told ([`answer`]). Nothing
//! here needs PostgreSQL. [`recorded`] reads what is on record.

pub mod answer;
pub mod ask;
pub mod authzen;
pub mod decide;
mod escalate;
pub mod hook;
pub mod record;
pub mod recorded;
