//! Answers for a refusal, where the hook asks for it: Claude Code goes on after any status but 2xx.

use axum::{
    Json,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    answer::{HookAnswer, Permission},
    params::OnError,
};
use crate::edge::Problem;

/// A layer around the route: also what is refused before the handler (a key that is not known, a limit that is used
/// up) becomes an answer.
pub async fn answered(request: Request, next: Next) -> Response {
    let permission = match OnError::of(request.uri()) {
        OnError::Pass => return next.run(request).await,
        OnError::Ask => Permission::Ask,
        OnError::Deny => Permission::Deny,
    };
    let response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (code, detail) = match response.extensions().get::<Problem>() {
        Some(problem) => (problem.code().as_str(), problem.detail()),
        None => ("refused", ""),
    };
    tracing::warn!(
        code,
        http.status = status.as_u16(),
        "a hook is told no, for want of a decision"
    );
    let reason = format!("Watchbell could not decide ({code}): {detail}");
    Json(HookAnswer::says(permission, &reason)).into_response()
}
