//! `POST /v1/me/password`: another password, for who knows the one they have.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use domain::{
    account::{Password, password},
    error_code::ErrorCode,
    fault::Fault,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{login::user_agent, refusals::Refusal, tell::tell};
use crate::{
    edge::{
        Problem,
        caller::{Anybody, Member},
        client_address::ClientAddress,
        problem::Refusals,
        read::Json,
    },
    planes::ControlPlane,
};

/// The password that one has, and another.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    /// Who found a session open does not know it.
    current_password: String,
    /// 12 to 128 characters, not the address, and not what everybody tries first.
    password: String,
}

/// Changes one's own password, and ends one's other sessions.
///
/// This session goes on, and so do API keys. That `current_password` was wrong is told in the trail, as a refused login is.
#[utoipa::path(
    post, path = "/v1/me/password", tag = "accounts", security(("session" = [])),
    request_body = PasswordChange,
    responses(
        (status = 204, description = "Changed"),
        Refusals,
    ),
)]
pub async fn change(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    client: ClientAddress,
    headers: HeaderMap,
    Json(change): Json<PasswordChange>,
) -> Result<StatusCode, Problem> {
    let own = plane
        .store
        .own_password(member.org, member.user)
        .await?
        .ok_or_else(|| Problem::not_found("member"))?;
    let chosen = Password::parse(change.password, &own.email)
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    let given = change.current_password;
    // Nobody has a password that is longer.
    let is_right = given.chars().count() <= password::CHARS_MAX
        && plane.passwords.check(given, Some(&own.hash)).await?;
    let now = plane.clock.now();
    if !is_right {
        plane.refusals.note(Refusal {
            org: member.org,
            user: member.user,
            at: now,
            client_address: client.to_string(),
            user_agent: user_agent(&headers),
        });
        let detail = "`current_password` is not the password that you have.";
        let fault = Fault::invalid("/current_password", detail);
        return Err(Problem::invalid(vec![fault]));
    }
    let hash = plane.passwords.hash(chosen).await?;
    let hand = member.hand(plane.clock.now());
    let changed = plane
        .store
        .change_password(hand, member.session, &own.hash, &hash)
        .await?;
    if !changed {
        let detail = "The password was changed in this moment, from elsewhere.";
        return Err(Problem::new(ErrorCode::Conflict, detail));
    }
    tell(&plane, member.org).await;
    Ok(StatusCode::NO_CONTENT)
}
