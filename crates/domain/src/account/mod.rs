//! Who is asking: API keys and people, and what each may do.

pub mod agents;
pub mod api_key;
pub mod email;
pub mod organization_name;
pub mod password;
pub mod role;
pub mod scope;
pub mod security_log;
pub mod session_lifetime;
pub mod token;

pub use agents::Agents;
pub use api_key::{ApiKey, KeyHash};
pub use email::EmailAddress;
pub use password::Password;
pub use role::Role;
pub use scope::Scope;
pub use token::{SecretToken, TokenHash, TokenKind};
