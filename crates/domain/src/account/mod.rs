//! Who is asking: API keys, and what a key may do.

pub mod api_key;
pub mod scope;

pub use api_key::{ApiKey, KeyHash};
pub use scope::Scope;
