//! What a request to record events may say in its query.

use axum::{extract::FromRequestParts, http::request::Parts};
use utoipa::IntoParams;

use super::validate::Validated;
use crate::edge::{Problem, extract};

/// How a batch is taken.
#[derive(Clone, Copy, Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct IngestParams {
    /// Whether one bad event causes the whole batch to be refused (default false).
    #[param(rename = "atomic", required = false)]
    pub is_atomic: bool,
}

impl IngestParams {
    /// Whether nothing of the batch is to be recorded.
    pub(super) fn refuses(self, judged: &Validated) -> bool {
        judged.accepted.is_empty() || (self.is_atomic && !judged.rejected.is_empty())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IngestParams {
    type Rejection = Problem;

    /// `atomic` at most once, and nothing else: a misspelled parameter would silently do nothing.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let is_atomic = extract::flag(parts, state, "atomic").await?;
        Ok(Self { is_atomic })
    }
}
