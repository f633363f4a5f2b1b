//! Accounts: organisations, their people, their keys.

pub mod api_keys;
pub mod found;
pub mod key_uses;
