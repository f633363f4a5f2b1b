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
    security_log::tell,
};
use crate::{
    edge::{Problem, strict_json::FormJson},
    mail::Letter,
    planes::ControlPlane,
};

/// The person who needs a new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordResetRequest {
    #[schema(example = "ann@example.com")]
    email: String,
}

/// The token from an email, and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChosen {
    #[schema(example = "wbt_...")]
    pub(super) token: String,
    /// 12 to 128 characters; not the email address, and not one of the passwords that attackers try first.
    pub(super) password: String,
}

/// Emails a link to choose a new password.
///
/// The response is the same whether or not the address has an account. An earlier link stops working.
#[utoipa::path(
    post, path = "/v1/auth/password-reset", tag = "accounts", request_body = PasswordResetRequest,
    responses(
        (status = 202, description = "Accepted; check your email", body = AcceptedBody),
    ),
)]
pub async fn request(
    State(plane): State<ControlPlane>,
    headers: HeaderMap,
    FormJson(wanted): FormJson<PasswordResetRequest>,
) -> Result<(StatusCode, JsonAnswer<AcceptedBody>), Problem> {
    let email =
        EmailAddress::parse_field(&wanted.email).map_err(|fault| Problem::invalid(vec![fault]))?;
    let message = if let Some(post) = &plane.post {
        post.hand_in(Letter::PasswordReset {
            email,
            mark: plane.door.cookie.read_mark(&headers),
        });
        "If the address has an account, an email explains what to do next."
    } else {
        "This server does not send email; ask its operator for a link (`watchbell admin \
         reset-link`)."
    };
    Ok((StatusCode::ACCEPTED, accepted(message)))
}

/// Sets a new password with the mailed token, and ends all of the person's sessions.
#[utoipa::path(
    post, path = "/v1/auth/password-reset/confirm", tag = "accounts", request_body = PasswordChosen,
    responses(
        (status = 204, description = "The password was set; log in", headers(("Set-Cookie" = String, description = "The cookie that identifies this browser"))),
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
