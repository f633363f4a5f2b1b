//! The name that a client gives a request, so that it may be sent again.

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, request::Parts},
};
use domain::{
    error_code::ErrorCode,
    idempotency::{KEY_CHARS_MAX, RequestName},
};

use super::{Caller, Problem, caller::Permission};

/// Says in an answer that the request was sent before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The `Idempotency-Key` of a request, if it has one, as it was given.
#[derive(Debug)]
pub struct IdempotencyKey(Option<HeaderValue>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all("idempotency-key").iter();
        match (given.next(), given.next()) {
            (first, None) => Ok(Self(first.cloned())),
            (_, Some(_)) => Err(bad_key()),
        }
    }
}

impl IdempotencyKey {
    /// The request's name among those of the same sender.
    pub fn name<P: Permission>(&self, caller: &Caller<P>) -> Result<Option<RequestName>, Problem> {
        let Some(given) = &self.0 else {
            return Ok(None);
        };
        let sender = caller.identity.counted_as();
        let name = given
            .to_str()
            .ok()
            .and_then(|key| RequestName::new(caller.org, &sender, key));
        name.map(Some).ok_or_else(bad_key)
    }
}

fn bad_key() -> Problem {
    let detail = format!(
        "`Idempotency-Key` must be given once and be 1 to {KEY_CHARS_MAX} printable ASCII characters."
    );
    Problem::new(ErrorCode::InvalidParameter, detail)
}
