//! Decisions: may this agent do this? Asked before it acts, recorded before it is answered.
//!
//! A question comes through a door ([`decide`], [`authzen`], [`hook`]), becomes an [`request`] that can be answered, is
//! evaluated by the organization's policies from memory and put on [`audit_event`], and then is told ([`answer`]). Nothing
//! here needs PostgreSQL. [`policy::recorded`] reads what is on record.

pub mod answer;
pub mod audit_event;
pub mod authzen;
pub mod decide;
mod escalate;
pub mod hook;
pub mod request;
