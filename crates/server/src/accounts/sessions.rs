//! `/v1/auth/sessions`: where one is logged in.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{SessionId, Timestamp, error_code::ErrorCode};
use serde::Serialize;
use store::sessions::ListedSession;
use utoipa::ToSchema;

use super::security_log::tell;
use crate::{
    edge::{
        Problem,
        caller::{Anybody, Member},
        extract::IdInPath,
    },
    planes::ControlPlane,
};

/// A login on one device.
#[derive(Serialize, ToSchema)]
pub struct SessionBody {
    #[schema(value_type = String, example = "ses_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: SessionId,
    /// Whether this request was made with it.
    current: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Accurate to a few minutes.
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
    /// When it ends, however much it is used.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    user_agent: Option<String>,
    client_address: Option<String>,
}

/// Your sessions.
#[derive(Serialize, ToSchema)]
pub struct SessionList {
    data: Vec<SessionBody>,
}

/// Lists your own sessions, newest first.
#[utoipa::path(
    get, path = "/v1/auth/sessions", tag = "accounts", security(("session" = [])),
    responses(
        (status = 200, description = "All your sessions", body = SessionList),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<SessionList>, Problem> {
    let sessions = plane
        .store
        .list_sessions(member.org, member.user, plane.clock.now())
        .await?;
    let body = |session: ListedSession| SessionBody {
        id: session.session,
        current: session.session == member.session,
        created_at: session.created_at,
        last_seen_at: session.last_seen_at,
        expires_at: session.expires_at,
        user_agent: session.user_agent,
        client_address: session.client_address,
    };
    let data = sessions.into_iter().map(body).collect();
    Ok(JsonAnswer(SessionList { data }))
}

/// Ends one of your own sessions.
#[utoipa::path(
    delete, path = "/v1/auth/sessions/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The session's id")),
    responses(
        (status = 204, description = "Ended"),
    ),
)]
pub async fn end(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    IdInPath(id): IdInPath<SessionId>,
) -> Result<StatusCode, Problem> {
    let hand = member.hand(plane.clock.now());
    let ended = plane.store.end_session(hand, id).await?;
    if !ended {
        let detail = "You have no such session.";
        return Err(Problem::new(ErrorCode::NotFound, detail));
    }
    tell(&plane, member.org).await;
    Ok(StatusCode::NO_CONTENT)
}
