//! `POST /v1/me/password`: another password, for who knows the one they have.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use domain::{
    account::{Password, SecretToken, TokenKind, password},
    error_code::ErrorCode,
    fault::Fault,
};
use runtime::random;
use serde::Deserialize;
use store::passwords::OwnPassword;
use utoipa::ToSchema;

use super::{
    Accounts,
    login::{Cookies, cookies, user_agent},
    refused_logins::Refusal,
    security_log::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Anybody, AtLeast, Member},
        client_address::ClientAddress,
        known_browser::BrowserMark,
        strict_json::FormJson,
    },
    planes::ControlPlane,
};

/// Your current password and a new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    /// Your current password: someone who found an open session does not know it.
    current_password: String,
    /// 12 to 128 characters; not the email address, and not one of the passwords that attackers try first.
    password: String,
}

/// Changes your own password, and ends your other sessions.
///
/// This session continues with a new cookie, which the response sets; API keys keep working too. A wrong
/// `current_password` is recorded in the trail, like a refused login.
#[utoipa::path(
    post, path = "/v1/me/password", tag = "accounts", security(("session" = [])),
    request_body = PasswordChange,
    responses(
        (status = 204, description = "Changed", headers(("Set-Cookie" = String, description = "The session cookie, and a separate cookie that identifies this browser"))),
    ),
)]
pub async fn change(
    State(plane): State<Accounts>,
    member: Member<Anybody>,
    client: ClientAddress,
    headers: HeaderMap,
    FormJson(change): FormJson<PasswordChange>,
) -> Result<(StatusCode, Cookies), Problem> {
    let own = own_password(&plane, &member).await?;
    let chosen = Password::parse(change.password, &own.email)
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    let from = (client, &headers);
    prove(&plane, &member, &own, change.current_password, from).await?;
    let hash = plane.passwords.hash(chosen).await?;
    let hand = member.hand(plane.clock.now());
    let token = SecretToken::new(TokenKind::Session, random::bytes());
    let token_hash = token.hash();
    let session = (member.session, &token_hash);
    let changed = plane
        .store
        .change_password(hand, session, &own.hash, &hash)
        .await?;
    if !changed {
        let detail =
            "The password was just changed, or this session just ended, from somewhere else.";
        return Err(Problem::new(ErrorCode::Conflict, detail));
    }
    tell(&plane, member.org).await;
    let mark = BrowserMark::new(&hash);
    Ok((StatusCode::NO_CONTENT, cookies(&plane, &token, &mark)))
}

/// What the password of who asks is checked against.
pub(super) async fn own_password<R: AtLeast>(
    plane: &ControlPlane,
    member: &Member<R>,
) -> Result<OwnPassword, Problem> {
    let own = plane.store.own_password(member.org, member.user).await?;
    own.ok_or_else(|| Problem::not_found("member"))
}

/// Refuses who does not know their own password, and has the trail told, as of a refused login.
pub(super) async fn prove<R: AtLeast>(
    plane: &Accounts,
    member: &Member<R>,
    own: &OwnPassword,
    given: String,
    (client, headers): (ClientAddress, &HeaderMap),
) -> Result<(), Problem> {
    // Nobody has a password that is longer.
    let is_right = given.chars().count() <= password::CHARS_MAX
        && plane.passwords.check(given, Some(&own.hash)).await?;
    if is_right {
        return Ok(());
    }
    plane.refusals.note(Refusal {
        org: member.org,
        user: member.user,
        at: plane.clock.now(),
        client_address: client.to_string(),
        user_agent: user_agent(headers),
    });
    let detail = "`current_password` is not your current password.";
    let fault = Fault::invalid("/current_password", detail);
    Err(Problem::invalid(vec![fault]))
}
