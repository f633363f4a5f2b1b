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
use futures::{FutureExt as _, future::BoxFuture};
use runtime::error_chain::chain;
use tokio::time::Instant;

use super::{
    Problem,
    caller::Permission,
    identity::{Authority, Door, identify, presented, unauthenticated},
};
use crate::snapshots::keys::Known;

/// How often an answer that goes on should ask.
pub const ASK_EVERY: Duration = Duration::from_secs(3);

/// Who cannot be asked about, because the database is away, is trusted this long after the last
/// answer; the same as for API keys while the journal is away.
const TRUSTED_FOR: Duration = Duration::from_secs(15 * 60);

/// Asks once more; an error if nobody can say.
type Recheck = Box<dyn Fn() -> BoxFuture<'static, Result<bool, String>> + Send + Sync>;

/// The key or session of a request that has the permission `P`.
pub struct AuthRecheck<P: Permission> {
    org: OrgId,
    /// Whether the key or session is still known, not over, and has the permission.
    holds: Recheck,
    confirmed_at: Mutex<Instant>,
    permission: PhantomData<P>,
}

impl<A: Authority, P: Permission + 'static> FromRequestParts<A> for AuthRecheck<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, authority: &A) -> Result<Self, Problem> {
        let org = identify(parts, authority).await?.org();
        let authority = authority.clone();
        let holds: Recheck = if parts.headers.contains_key(header::AUTHORIZATION) {
            let hash = presented(&parts.headers)?.hash();
            Box::new(move || key_holds::<P>(authority.door().clone(), org, hash.clone()).boxed())
        } else {
            let token = authority.door().cookie.read(&parts.headers);
            let token =
                token.ok_or_else(|| unauthenticated("This session has ended; log in again."));
            let hash = token?.hash();
            Box::new(move || session_holds::<A, P>(authority.clone(), org, hash.clone()).boxed())
        };
        Ok(Self {
            org,
            holds,
            confirmed_at: Mutex::new(Instant::now()),
            permission: PhantomData,
        })
    }
}

impl<P: Permission> AuthRecheck<P> {
    /// Whether who was let in may still be there. Asking is not using: it does not keep a session from ending.
    pub async fn still_holds(&self) -> bool {
        let answer = (self.holds)().await;
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
                tracing::debug!(error, org.id = %self.org, "could not check again who is asking");
                confirmed_at.elapsed() < TRUSTED_FOR
            }
        }
    }
}

async fn key_holds<P: Permission>(door: Door, org: OrgId, hash: KeyHash) -> Result<bool, String> {
    let key = match door.keys.known(&hash).await {
        Known::Key(key) => Some(key),
        Known::Met | Known::Nothing => {
            let found = door.keys.find(&hash).await;
            found.map_err(|error| chain(&error))?
        }
    };
    let now = door.clock.now();
    Ok(key.is_some_and(|key| {
        key.org_id == org
            && key.scopes.contains(&P::SCOPE)
            && key.expires_at.is_none_or(|expiry| now < expiry)
    }))
}

async fn session_holds<A: Authority, P: Permission>(
    authority: A,
    org: OrgId,
    hash: TokenHash,
) -> Result<bool, String> {
    let session = authority.look_at_session(&hash).await;
    let session = session.map_err(|error| chain(&error))?;
    Ok(session
        .is_some_and(|session| session.org == org && session.role.scopes().contains(&P::SCOPE)))
}
