//! Answers for a refusal, where the hook does not ask otherwise: Claude Code goes on after any status but 2xx, or blocks
//! without a word of why.

use std::{panic::AssertUnwindSafe, time::Duration};

use axum::{
    Json,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt as _;
use tokio::time::timeout;

use super::{answer::Permission, dialects::claude_code::HookAnswer, params::OnError};
use crate::{edge::Problem, planes::DataPlane};

/// How long before the request is given up an answer is given in its place, so that it is one.
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// A layer around the route: also what is refused before the handler (a key that is not known, a limit that is used
/// up) becomes an answer, and what takes too long or panics.
pub async fn answered(State(plane): State<DataPlane>, request: Request, next: Next) -> Response {
    let permission = match OnError::of(request.uri()) {
        OnError::Pass => return next.run(request).await,
        OnError::Ask => Permission::Ask,
        OnError::Deny => Permission::Deny,
    };
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind();
    let response = match timeout(longest_answer(plane.request_timeout), answering).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => return said(permission, "a panic", "This is a bug in Watchbell."),
        Err(_) => return said(permission, "too slow", "It took too long."),
    };
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    match response.extensions().get::<Problem>() {
        Some(problem) => said(permission, problem.code().as_str(), problem.detail()),
        None => said(permission, "refused", status.as_str()),
    }
}

/// How long an answer may take where a request may take so long.
pub fn longest_answer(request_timeout: Duration) -> Duration {
    request_timeout
        .saturating_sub(BEFORE_THE_END)
        .max(request_timeout / 2)
}

fn said(permission: Permission, code: &str, detail: &str) -> Response {
    tracing::warn!(code, "denied a hook call: no decision was available");
    let reason = format!("Watchbell could not decide ({code}): {detail}");
    Json(HookAnswer::says(permission, &reason)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_before_the_request_is_given_up() {
        for seconds in [1, 3, 30] {
            let whole = Duration::from_secs(seconds);
            let answer = longest_answer(whole);
            assert!(answer < whole && !answer.is_zero(), "{seconds}");
        }
    }
}
