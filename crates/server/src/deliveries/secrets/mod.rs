//! Signing secrets of an organisation's own: made, promoted and dropped by people, at rest only sealed.
//!
//! The cast: `domain::secret` is the life of a secret; [`manage`] is `/v1/signing-secrets`; [`seal`] hides a
//! secret's text with a key of the configuration; [`tell`] tells the trail; [`keyring`]
//! finds the secrets of the past. A change is announced as keys and
//! rules are, one value for each organisation; `snapshots::secrets` holds them on every node that delivers,
//! and `deliveries::send::signing` signs with them. Why it is so: docs/adr/0017.

pub mod keyring;
pub mod manage;
pub mod seal;
mod tell;
