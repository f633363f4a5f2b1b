//! What the control plane decided, held in memory where the data plane needs it.
//!
//! Keys and policies are looked up in the journal when first used and forgotten when they change; all approvals that
//! wait are held. None needs PostgreSQL. What matching and deliveries hold is with them: `matching::Rules`,
//! `deliver::snapshots`.

pub mod approvals;
pub mod guards;
pub mod keys;

pub use approvals::Approvals;
pub use guards::{Guarded, Guards, Version};
pub use keys::Keys;
