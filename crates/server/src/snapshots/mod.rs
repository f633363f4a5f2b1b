//! What the control plane decided, held in memory where the data plane needs it.
//!
//! Keys are looked up in the journal when first used and forgotten when they change; rules are all
//! held, because any event may match any of them, and so are endpoints in trouble, because a delivery may
//! be for any of them. None needs PostgreSQL.

mod cancels;
mod endpoints;
pub mod keys;
mod mirror;
mod rules;
mod targets;

pub use cancels::Cancels;
pub use endpoints::{Endpoints, Learned};
pub use keys::Keys;
pub use rules::Rules;
pub use targets::{Target, Targets};
