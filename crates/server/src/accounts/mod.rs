//! Accounts: organisations, their people, their keys.

pub mod found;
