//! The rules of Watchbell, pure: no I/O, no task, no clock, no randomness of its own.
//!
//! Time and chance come in as arguments, so every rule here can be tested with a table of cases.
//! Folders are the nouns of the product: an [`event`] arrives in a [`batch`], a [`rule`] matches
//! it, a [`delivery`] carries both to the customer; a [`query`] asks for them, and a [`view`] keeps it; an
//! [`account`] owns all of it and has its [`limit`]s and its [`guard`], which asks people for an [`approval`]. [`mcp`] is how
//! agents call tools.

pub mod account;
pub mod approval;
pub mod batch;
pub mod clock;
mod day;
pub mod delivery;
pub mod disobeyed_decision;
pub mod error_code;
pub mod event;
pub mod fault;
pub mod guard;
pub mod id;
pub mod idempotency;
pub mod limit;
pub mod mcp;
mod nearest;
pub mod partition;
pub mod policy_state;
pub mod query;
pub mod rule;
pub mod secret;
pub mod timestamp;
pub mod view;

pub use day::Day;
pub use id::{
    AttemptId, DecisionId, DeliveryId, EndpointId, ErasureId, EventId, ExportId, InvitationId,
    KeyId, OrgId, RecoveryId, RuleId, SecretId, SessionId, UserId, ViewId,
};
pub use timestamp::Timestamp;
