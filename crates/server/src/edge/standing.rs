//! Whether who asked for something long may still have it: a key can be revoked and a session end
//! while an answer is being sent.

use axum::http::HeaderMap;
use domain::account::{KeyHash, Scope, TokenHash};

use super::{
    Problem,
    identity::{Authority as _, Identity, presented},
};
use crate::{planes::ControlPlane, snapshots::keys::Known};

/// Who asked, to be asked about again.
#[derive(Clone)]
pub struct Standing {
    plane: ControlPlane,
    credential: Credential,
    scope: Scope,
}

#[derive(Clone)]
enum Credential {
    Key(KeyHash),
    Session(TokenHash),
}

impl Standing {
    /// Of who sent this request and was let in for `scope`.
    pub fn of(
        identity: &Identity,
        headers: &HeaderMap,
        plane: &ControlPlane,
        scope: Scope,
    ) -> Result<Self, Problem> {
        let credential = match identity {
            Identity::Key(_) => Credential::Key(presented(headers)?.hash()),
            Identity::Session(_) => {
                let token = plane.door.cookie.read(headers);
                let token =
                    token.ok_or_else(|| super::identity::unauthenticated("Log in again."))?;
                Credential::Session(token.hash())
            }
        };
        Ok(Self {
            plane: plane.clone(),
            credential,
            scope,
        })
    }

    /// Whether the key or the session is still good for it. While that cannot be found out, because
    /// the journal or the database is away, it is.
    pub async fn still_holds(&self) -> bool {
        let identity = match &self.credential {
            Credential::Key(hash) => {
                let keys = &self.plane.door.keys;
                let key = match keys.known(hash).await {
                    Known::Key(key) => Some(key),
                    Known::Met | Known::Nothing => match keys.find(hash).await {
                        Ok(found) => found,
                        Err(_) => return true,
                    },
                };
                let now = self.plane.clock.now();
                let is_over = |expiry| expiry <= now;
                key.filter(|key| !key.expires_at.is_some_and(is_over))
                    .map(Identity::Key)
            }
            Credential::Session(token) => match self.plane.session(token).await {
                Ok(found) => found.map(|session| Identity::Session(session.into())),
                Err(_) => return true,
            },
        };
        identity.is_some_and(|identity| identity.allows(self.scope))
    }
}
