//! Signing secrets of an organization: the initial one is derived ([`derive`]); those that people made are at rest only
//! sealed ([`seal`]). What signs is a [`key`]. Why it is so: docs/adr/0017, docs/adr/0021.

pub mod derive;
pub mod key;
pub mod seal;
