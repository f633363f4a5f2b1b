//! What the control plane decided, held in memory where the data plane needs it.
//!
//! Keys are looked up in the journal when first used and forgotten when they change; rules and signing
//! secrets are all held, because any event may match any rule. None needs PostgreSQL.

pub mod keys;
mod progress;
mod rules;
pub mod secrets;

pub use keys::Keys;
pub use rules::Rules;
pub use secrets::Secrets;
