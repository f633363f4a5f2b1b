//! Whether who was let in may still be there: asked again and again while an answer goes on for long.

use std::{
    marker::PhantomData,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use domain::{
    OrgId,
    account::{KeyHash, TokenHash},
};
use runtime::error_chain::chain;
use tokio::time::Instant;

use super::{
    Problem,
    caller::Permission,
    identity::{identify, presented, unauthenticated},
};
use crate::{planes::ControlPlane, snapshots::keys::Known};

/// How often an answer that goes on should ask.
pub const ASK_EVERY: Duration = Duration::from_secs(3);

/// Who cannot be asked about, because the database is away, is trusted this long after the last
/// answer; the same as for API keys while the journal is away.
const TRUSTED_FOR: Duration = Duration::from_secs(15 * 60);

/// The key or session of a request that has the permission `P`.
pub struct Standing<P: Permission> {
    plane: ControlPlane,
    org: OrgId,
    credential: Credential,
    confirmed_at: Mutex<Instant>,
    permission: PhantomData<P>,
}

enum Credential {
    Key(KeyHash),
    Session(TokenHash),
}

impl<P: Permission> FromRequestParts<ControlPlane> for Standing<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, plane: &ControlPlane) -> Result<Self, Problem> {
        let org = identify(parts, plane).await?.org();
        let credential = if parts.headers.contains_key(header::AUTHORIZATION) {
            Credential::Key(presented(&parts.headers)?.hash())
        } else {
            let token = plane.door.cookie.read(&parts.headers);
            let token = token.ok_or_else(|| unauthenticated("This session is over; log in again."));
            Credential::Session(token?.hash())
        };
        Ok(Self {
            plane: plane.clone(),
            org,
            credential,
            confirmed_at: Mutex::new(Instant::now()),
            permission: PhantomData,
        })
    }
}

impl<P: Permission> Standing<P> {
    /// Whether the key or session is still known, not over, and has the permission. Asking is not
    /// using: it does not keep a session from ending.
    pub async fn still_holds(&self) -> bool {
        let answer = match &self.credential {
            Credential::Key(hash) => self.key_holds(hash).await,
            Credential::Session(hash) => self.session_holds(hash).await,
        };
        let mut confirmed_at = self
            .confirmed_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match answer {
            Ok(true) => {
                *confirmed_at = Instant::now();
                true
            }
            Ok(false) => false,
            Err(error) => {
                tracing::debug!(error, org.id = %self.org, "who is there cannot be told");
                confirmed_at.elapsed() < TRUSTED_FOR
            }
        }
    }

    async fn key_holds(&self, hash: &KeyHash) -> Result<bool, String> {
        let door = &self.plane.door;
        let key = match door.keys.known(hash).await {
            Known::Key(key) => Some(key),
            Known::Met | Known::Nothing => {
                let found = door.keys.find(hash).await;
                found.map_err(|error| chain(&error))?
            }
        };
        let now = door.clock.now();
        Ok(key.is_some_and(|key| {
            key.org_id == self.org
                && key.scopes.contains(&P::SCOPE)
                && key.expires_at.is_none_or(|expiry| now < expiry)
        }))
    }

    async fn session_holds(&self, hash: &TokenHash) -> Result<bool, String> {
        let session = self.plane.store.session(hash, self.plane.clock.now()).await;
        let session = session.map_err(|error| chain(&error))?;
        Ok(session.is_some_and(|session| {
            session.org == self.org && session.role.scopes().contains(&P::SCOPE)
        }))
    }
}
