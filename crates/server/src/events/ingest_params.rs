//! What a request to record events may say beside its body.

use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, request::Parts},
};
use domain::{
    error_code::ErrorCode,
    idempotency::{KEY_CHARS_MAX, RequestName},
};
use utoipa::IntoParams;

use super::judge::Judged;
use crate::edge::{Caller, Problem, caller::EventsWrite, read};

/// How a batch is taken.
#[derive(Clone, Copy, Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct IngestParams {
    /// Whether one bad event refuses the whole batch (false).
    #[param(rename = "atomic", required = false)]
    pub is_atomic: bool,
}

impl IngestParams {
    /// Whether nothing of the batch is to be recorded.
    pub(super) fn refuses(self, judged: &Judged) -> bool {
        judged.accepted.is_empty() || (self.is_atomic && !judged.rejected.is_empty())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IngestParams {
    type Rejection = Problem;

    /// `atomic` at most once, and nothing else: a misspelt parameter would silently do nothing.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut atomic = None;
        for (name, value) in read::pairs(parts, state).await? {
            match name.as_str() {
                "atomic" => read::once(&name, &mut atomic, value)?,
                _ => return Err(read::unknown_parameter(&name, &["atomic"])),
            }
        }
        match atomic.as_deref() {
            None | Some("false") => Ok(Self { is_atomic: false }),
            Some("true") => Ok(Self { is_atomic: true }),
            Some(_) => {
                let detail = "`atomic` must be `true` or `false`.";
                Err(Problem::parameter("atomic", detail))
            }
        }
    }
}

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
    pub(super) fn name(
        &self,
        caller: &Caller<EventsWrite>,
    ) -> Result<Option<RequestName>, Problem> {
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
