//! Who is there: an API key or a person's session, looked up once per request.

use std::sync::Arc;

use axum::http::{HeaderMap, header, request::Parts};
use domain::{
    OrgId,
    account::{ApiKey, Scope, TokenHash},
    clock::Clock,
    error_code::ErrorCode,
};
use store::sessions::SessionRow;

use super::{Problem, client_address::ProxyTrust, quotas::Quotas, session_cookie::SessionCookie};
use crate::snapshots::{
    Keys,
    keys::{Key, Known},
};

/// Who is asking, checked.
#[derive(Clone, Debug)]
pub enum Identity {
    Key(Arc<Key>),
    Session(Arc<SessionRow>),
}

/// What telling who is there takes; every plane has one. Cheap to clone.
#[derive(Clone)]
pub struct Door {
    pub keys: Keys,
    pub clock: Clock,
    pub quotas: Quotas,
    pub proxies: ProxyTrust,
    pub cookie: SessionCookie,
}

/// A plane, as far as it can tell who is there. The data plane has no database, so it knows keys
/// only.
pub trait Authority: Clone + Send + Sync + 'static {
    /// Whether people may ask here.
    const TAKES_SESSIONS: bool;

    fn door(&self) -> &Door;

    /// The session with this token, unless it is not known or over.
    fn session(
        &self,
        token: &TokenHash,
    ) -> impl Future<Output = Result<Option<SessionRow>, Problem>> + Send;

    /// The same without using it, which would keep it from ending.
    fn look_at_session(
        &self,
        token: &TokenHash,
    ) -> impl Future<Output = Result<Option<SessionRow>, store::Error>> + Send;
}

impl Identity {
    pub fn org(&self) -> OrgId {
        match self {
            Self::Key(key) => key.org_id,
            Self::Session(session) => session.org,
        }
    }

    pub fn allows(&self, scope: Scope) -> bool {
        match self {
            Self::Key(key) => key.scopes.contains(&scope),
            Self::Session(session) => session.role.scopes().contains(&scope),
        }
    }

    /// Whose requests are counted together: a key's, or a person's, however often they log in.
    pub fn counted_as(&self) -> String {
        match self {
            Self::Key(key) => key.id.to_string(),
            Self::Session(session) => session.user.to_string(),
        }
    }
}

/// Who sent this request. What was found is kept with the request, so that a second question costs
/// nothing.
pub async fn identify<A: Authority>(parts: &mut Parts, authority: &A) -> Result<Identity, Problem> {
    if let Some(identity) = parts.extensions.get::<Identity>() {
        return Ok(identity.clone());
    }
    let door = authority.door();
    let identity = if parts.headers.contains_key(header::AUTHORIZATION) {
        Identity::Key(known_key(parts, door).await?)
    } else if !A::TAKES_SESSIONS {
        let detail =
            "Send `Authorization: Bearer wb_live_...`; this needs an API key, not a session.";
        return Err(unauthenticated(detail));
    } else if let Some(token) = door.cookie.read(&parts.headers) {
        let client = door.proxies.client_of(&parts.extensions, &parts.headers);
        door.quotas.may_guess(&client)?;
        let Some(session) = authority.session(&token.hash()).await? else {
            door.quotas.note_guess(&client).await;
            return Err(unauthenticated("This session has ended; log in again."));
        };
        Identity::Session(Arc::new(session))
    } else {
        let detail = "Send `Authorization: Bearer wb_live_...`, or log in (POST /v1/auth/login).";
        return Err(unauthenticated(detail));
    };
    parts.extensions.insert(identity.clone());
    Ok(identity)
}

async fn known_key(parts: &Parts, door: &Door) -> Result<Arc<Key>, Problem> {
    let hash = presented(&parts.headers)?.hash();
    let key = match door.keys.known(&hash).await {
        Known::Key(key) => Some(key),
        Known::Met => door.keys.find(&hash).await?,
        Known::Nothing => {
            // Whoever invents keys costs the journal a question each; nobody may ask without end.
            let client = door.proxies.client_of(&parts.extensions, &parts.headers);
            door.quotas.may_guess(&client)?;
            let found = door.keys.find(&hash).await?;
            if found.is_none() {
                door.quotas.note_guess(&client).await;
            }
            found
        }
    };
    let unknown = "This API key is unknown; it may have been revoked.";
    let key = key.ok_or_else(|| unauthenticated(unknown))?;
    let now = door.clock.now();
    if key.expires_at.is_some_and(|expiry| expiry <= now) {
        return Err(unauthenticated(
            "This API key has expired; create another, or ask an admin of your organization for \
             one.",
        ));
    }
    door.keys.note_use(&key);
    Ok(key)
}

pub(super) fn presented(headers: &HeaderMap) -> Result<ApiKey, Problem> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| {
            unauthenticated("`Authorization` must be `Bearer` followed by an API key.")
        })?;
    ApiKey::parse(token).ok_or_else(|| {
        unauthenticated("This is not a Watchbell API key; a character may be missing or mistyped.")
    })
}

pub(super) fn unauthenticated(detail: &str) -> Problem {
    Problem::new(ErrorCode::Unauthenticated, detail)
}
