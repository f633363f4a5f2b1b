//! Signing secrets of an organization: its [`initial`] one, which is derived (`deliver::secrets::derive`), and those that people make,
//! promote and drop, at rest only sealed.
//!
//! The cast: `domain::secret` is the life of a secret; [`manage`] is `/v1/signing-secrets`; `deliver::secrets::seal` hides a
//! secret's text with a key of the configuration; [`audit_events`] tells the trail; [`keyring`]
//! finds the secrets of the past. A change is announced as keys and
//! rules are, one value for each organization; `deliver::snapshots::secrets` holds them on every node that delivers,
//! and `deliver::send::signing` signs with them. Why it is so: docs/adr/0017, docs/adr/0021.

mod audit_events;
pub mod initial;
pub mod keyring;
pub mod manage;
