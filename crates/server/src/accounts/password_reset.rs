//! `/v1/auth/password-reset`: a new password for who can read the mail.

use axum::{
    Json as JsonAnswer,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use domain::account::{EmailAddress, Password};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Accounts,
    login::{SetCookie, marked},
    schema::{AcceptedBody, accepted, link_token, token_invalid},
    tell::tell,
};
use crate::{
    edge::{Problem, problem::ProblemBody, strict_json::FormJson},
    mail::Letter,
    planes::ControlPlane,
};

/// Who wants a new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetWanted {
    #[schema(example = "ann@example.com")]
    email: String,
}

/// The token from a mail, and a password that its reader chose.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChosen {
    #[schema(example = "wbt_...")]
    pub(super) token: String,
    /// 12 to 128 characters, not the address, and not what everybody tries first.
    pub(super) password: String,
}

/// Mails a link to choose a new password.
///
/// Answers the same whether the address has an account or not. An earlier link stops working.
#[utoipa::path(
    post, path = "/v1/auth/password-reset", tag = "accounts", request_body = ResetWanted,
    responses(
        (status = 202, description = "Taken; read your mail", body = AcceptedBody),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn request(
    State(plane): State<ControlPlane>,
    headers: HeaderMap,
    FormJson(wanted): FormJson<ResetWanted>,
) -> Result<(StatusCode, JsonAnswer<AcceptedBody>), Problem> {
    let email =
        EmailAddress::parse_field(&wanted.email).map_err(|fault| Problem::invalid(vec![fault]))?;
    let message = if let Some(post) = &plane.post {
        post.hand_in(Letter::PasswordReset {
            email,
            mark: plane.door.cookie.read_mark(&headers),
        });
        "If the address has an account, a mail says how to go on."
    } else {
        "This server sends no mail; ask whoever runs it for a link (`watchbell admin reset-link`)."
    };
    Ok((StatusCode::ACCEPTED, accepted(message)))
}

/// Sets a new password by the token that was mailed, and ends every session of the person.
#[utoipa::path(
    post, path = "/v1/auth/password-reset/confirm", tag = "accounts", request_body = PasswordChosen,
    responses(
        (status = 204, description = "Set; log in", headers(("Set-Cookie" = String, description = "The browser's mark"))),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Busy, or a dependency is down", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn confirm(
    State(plane): State<Accounts>,
    FormJson(chosen): FormJson<PasswordChosen>,
) -> Result<(StatusCode, SetCookie), Problem> {
    let token = link_token(&chosen.token)?.hash();
    // Asked first, so that nobody can order hashes with made-up tokens, and so that a password that
    // is refused does not use the link up.
    let email = plane
        .store
        .password_reset_for(&token, plane.clock.now())
        .await?
        .ok_or_else(token_invalid)?;
    let password =
        Password::parse(chosen.password, &email).map_err(|fault| Problem::invalid(vec![fault]))?;
    let hash = plane.passwords.hash(password).await?;
    let used = plane
        .store
        .use_password_reset(&token, &hash, plane.clock.now())
        .await?;
    let org = used.ok_or_else(token_invalid)?;
    tell(&plane, org).await;
    Ok((StatusCode::NO_CONTENT, marked(&plane, &hash)))
}
