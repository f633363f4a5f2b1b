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
use runtime::chance;
use serde::Deserialize;
use store::passwords::OwnPassword;
use utoipa::ToSchema;

use super::{
    Accounts,
    login::{Cookies, cookies, user_agent},
    refusals::Refusal,
    tell::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Anybody, AtLeast, Member},
        client_address::ClientAddress,
        known_browser::BrowserMark,
        problem::Refusals,
        strict_json::FormJson,
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
/// This session goes on with another cookie, which the answer sets; API keys go on too. That `current_password` was wrong is
/// told in the trail, as a refused login is.
#[utoipa::path(
    post, path = "/v1/me/password", tag = "accounts", security(("session" = [])),
    request_body = PasswordChange,
    responses(
        (status = 204, description = "Changed", headers(("Set-Cookie" = String, description = "The session; and, by itself, the browser's mark"))),
        Refusals,
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
    let token = SecretToken::new(TokenKind::Session, chance::bytes());
    let token_hash = token.hash();
    let session = (member.session, &token_hash);
    let changed = plane
        .store
        .change_password(hand, session, &own.hash, &hash)
        .await?;
    if !changed {
        let detail =
            "The password was changed, or this session ended, from elsewhere in this moment.";
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
    let detail = "`current_password` is not the password that you have.";
    let fault = Fault::invalid("/current_password", detail);
    Err(Problem::invalid(vec![fault]))
}
