//! Who is asking, as an argument: a handler that takes a [`Caller`] has a key that was checked, is
//! not expired, and has the scope the handler needs.

use std::marker::PhantomData;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{header, request::Parts},
};
use domain::{
    OrgId,
    account::{ApiKey, Scope},
    clock::Clock,
    error_code::ErrorCode,
};

use super::Problem;
use crate::snapshots::Keys;

/// A permission as a type, so that forgetting to check it does not compile.
pub trait Permission: Send + Sync {
    const SCOPE: Scope;
}

macro_rules! permissions {
    ($($name:ident),* $(,)?) => {$(
        #[derive(Debug)]
        pub struct $name;

        impl Permission for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )*};
}

permissions! { EventsWrite, EventsRead, RulesWrite, RulesRead, DeliveriesRead }

/// An API key that was checked for the permission `P`.
#[derive(Debug)]
pub struct Caller<P: Permission> {
    pub org: OrgId,
    permission: PhantomData<P>,
}

impl<S, P> FromRequestParts<S> for Caller<P>
where
    S: Send + Sync,
    P: Permission,
    Keys: FromRef<S>,
    Clock: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let key = presented(parts)?;
        let known = Keys::from_ref(state).find(&key.hash()).await?;
        let key = known.ok_or_else(|| {
            unauthenticated("This API key is not known; it may have been revoked.")
        })?;
        let now = Clock::from_ref(state).now();
        if key.expires_at.is_some_and(|expiry| expiry <= now) {
            return Err(unauthenticated(
                "This API key has expired; ask whoever runs the server for another.",
            ));
        }
        if !key.scopes.contains(&P::SCOPE) {
            let detail = format!("This API key lacks the scope `{}`.", P::SCOPE);
            return Err(Problem::new(ErrorCode::Forbidden, detail));
        }
        Ok(Self {
            org: key.org_id,
            permission: PhantomData,
        })
    }
}

fn presented(parts: &Parts) -> Result<ApiKey, Problem> {
    let value = parts
        .headers
        .get(header::AUTHORIZATION)
        .ok_or_else(|| unauthenticated("Send `Authorization: Bearer wb_live_...`."))?;
    let token = value
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| unauthenticated("`Authorization` must be `Bearer` and an API key."))?;
    ApiKey::parse(token).ok_or_else(|| {
        unauthenticated("This is not a Watchbell API key; a character may be missing or mistyped.")
    })
}

fn unauthenticated(detail: &str) -> Problem {
    Problem::new(ErrorCode::Unauthenticated, detail)
}
