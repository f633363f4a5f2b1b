//! What the control plane decided, held in memory where the data plane needs it.
//!
//! Keys and policies are looked up in the journal when first used and forgotten when they change. Rules and signing
//! secrets are all held, because any event may match any rule, and so are endpoints in trouble, because a
//! delivery may be for any of them. None needs PostgreSQL.

pub mod approvals;
mod cancels;
mod endpoints;
pub mod guards;
pub mod keys;
mod mirror;
mod owners;
mod rules;
pub mod secrets;
mod targets;

pub use approvals::Approvals;
pub use cancels::Cancels;
pub use endpoints::{Endpoints, Learned};
pub use guards::{Guarded, Guards, Version};
pub use keys::Keys;
pub use owners::Owners;
pub use rules::Rules;
pub use secrets::Secrets;
pub use targets::{Target, Targets};
