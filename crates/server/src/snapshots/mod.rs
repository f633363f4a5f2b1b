//! What the control plane decided, held in memory where the data plane needs it.
//!
//! Keys are looked up in the journal when first used and forgotten when they change; rules are all
//! held, because any event may match any of them. Neither needs PostgreSQL.

pub mod keys;
mod rules;

pub use keys::Keys;
pub use rules::Rules;
