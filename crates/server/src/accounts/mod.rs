//! Accounts: organizations, their people, their keys, and how people come in.
//!
//! What a stranger may ask (register, log in, choose a new password) never tells whether an address
//! has an account: the answer is the same, byte for byte, and takes as long. A login checks a hash
//! either way, a registration is hashed and kept either way, and everything else that depends on the
//! account happens in [`crate::mail`] or [`refused_logins`], after the answer.
//!
//! Secrets that are handed out (the session's cookie, the links in mails) are random and kept only
//! as hashes; a link works once. [`passwords`] are hashed by argon2id.
//!
//! What is done here is told to the organization's trail ([`security_log`]), which is its security log.

pub mod api_keys;
pub mod deletion;
pub mod expiry;
pub mod invitations;
pub mod key_uses;
pub mod log_access;
pub mod login;
pub mod members;
pub mod new_organization;
pub mod organization;
pub mod own_password;
pub mod password_reset;
pub mod passwords;
pub mod refused_logins;
pub mod register;
pub mod schema;
pub mod security_log;
pub mod sessions;

use std::ops::Deref;

use axum::extract::FromRef;

use self::{passwords::Passwords, refused_logins::Refusals};
use crate::{
    edge::client_address::ProxyTrust,
    planes::{ControlPlane, Part},
};

/// What those who come in and choose passwords may touch.
#[derive(Clone)]
pub struct Accounts {
    pub plane: ControlPlane,
    pub passwords: Passwords,
    pub refusals: Refusals,
}

impl Part for Accounts {}

impl Deref for Accounts {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.plane
    }
}

impl FromRef<Accounts> for ControlPlane {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.plane.clone()
    }
}

impl FromRef<Accounts> for ProxyTrust {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.door.proxies.clone()
    }
}
