//! `POST /v1/auth/register` and `/v1/auth/verify-email`: how an organization comes to be.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    OrgId, UserId,
    account::{EmailAddress, Password, SecretToken, TokenKind, organization_name, password},
    error_code::ErrorCode,
};
use runtime::random;
use serde::Deserialize;
use store::registrations::Registration;
use utoipa::ToSchema;

use super::{
    Accounts,
    login::{SetCookie, marked},
    schema::{AcceptedBody, accepted, link_token, token_invalid},
};
use crate::{
    config,
    edge::{Problem, strict_json::FormJson},
    mail::Letter,
    planes::ControlPlane,
};

/// An organization and its owner.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRegistration {
    /// The organization's name: 1 to 100 characters, and no web address, because the name appears in emails.
    #[serde(rename = "organisation")]
    organization: String,
    #[schema(example = "ann@example.com")]
    email: String,
    /// 12 to 128 characters; not the email address, and not one of the passwords that attackers try first.
    password: String,
}

/// The token from an email, and the password that was chosen when registering.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    #[schema(example = "wbt_...")]
    token: String,
    /// The password from the registration: someone who can only read the email does not know it.
    password: String,
}

/// Registers an organization and its owner, unless `accounts.registration` is `closed`.
///
/// The response is the same whether or not the address is free; the email says what to do next.
#[utoipa::path(
    post, path = "/v1/auth/register", tag = "accounts", request_body = NewRegistration,
    responses(
        (status = 202, description = "Accepted; check your email", body = AcceptedBody),
    ),
)]
pub async fn register(
    State(plane): State<Accounts>,
    FormJson(new): FormJson<NewRegistration>,
) -> Result<(StatusCode, JsonAnswer<AcceptedBody>), Problem> {
    refuse_if_closed(&plane)?;
    let (org_name, email, password) = checked(new)?;
    refuse_unproven_operator(&plane, &email)?;
    let registration = Registration {
        org_name,
        email,
        password_hash: plane.passwords.hash(password).await?,
    };
    let now = plane.clock.now();
    let message = if let Some(post) = &plane.post {
        let token = SecretToken::new(TokenKind::Link, random::bytes());
        let kept = plane
            .store
            .save_registration(&registration, &token.hash(), now)
            .await?;
        if kept {
            post.hand_in(Letter::Registration {
                email: registration.email,
                org_name: registration.org_name,
                registered_at: now,
                token,
            });
        }
        "Check your email: it explains what to do next."
    } else {
        let (org, user) = (
            OrgId::new(now, random::bytes()),
            UserId::new(now, random::bytes()),
        );
        // Whether the address was free is nobody's business but its owner's.
        let _ = plane
            .store
            .register_at_once(&registration, org, user, now)
            .await?;
        "This server does not send email. If the address had no account, it has one now: log in."
    };
    Ok((StatusCode::ACCEPTED, accepted(message)))
}

/// Confirms an email address, which creates the account.
///
/// It takes the mailed token and the password of that registration. Both are needed, because anyone can register any
/// address: a link that someone else requested must not create an account with a password they know. A wrong password
/// gets the same response as a wrong token, and the link stays valid.
#[utoipa::path(
    post, path = "/v1/auth/verify-email", tag = "accounts", request_body = Confirmation,
    responses(
        (status = 204, description = "The account was created; log in", headers(("Set-Cookie" = String, description = "The cookie that identifies this browser"))),
    ),
)]
pub async fn verify_email(
    State(plane): State<Accounts>,
    FormJson(given): FormJson<Confirmation>,
) -> Result<(StatusCode, SetCookie), Problem> {
    // A link that was mailed while it was open makes no organization either.
    refuse_if_closed(&plane)?;
    let token = link_token(&given.token)?.hash();
    // No registration has such a password.
    if given.password.chars().count() > password::CHARS_MAX {
        return Err(token_invalid());
    }
    let chosen = plane
        .store
        .registration_password(&token, plane.clock.now())
        .await?;
    let is_right = plane
        .passwords
        .check(given.password, chosen.as_deref())
        .await?;
    let chosen = chosen.filter(|_| is_right).ok_or_else(token_invalid)?;
    let now = plane.clock.now();
    let (org, user) = (
        OrgId::new(now, random::bytes()),
        UserId::new(now, random::bytes()),
    );
    let made = plane
        .store
        .confirm_registration(&token, org, user, now)
        .await?;
    if !made {
        return Err(token_invalid());
    }
    Ok((StatusCode::NO_CONTENT, marked(&plane, &chosen)))
}

/// Refuses to make an account under the address of one of them where nobody proves by mail that it is theirs: whoever
/// came first would be the operator. The same whether there is such an account or not.
pub(super) fn refuse_unproven_operator(
    plane: &ControlPlane,
    email: &EmailAddress,
) -> Result<(), Problem> {
    if plane.post.is_some() || !plane.operators.include(email.as_str()) {
        return Ok(());
    }
    Err(Problem::new(
        ErrorCode::Forbidden,
        "This address belongs to an operator of this server (`accounts.operators`), and this server sends no email to \
         prove who owns it. Create the operator's account with `watchbell admin create-org`.",
    ))
}

fn refuse_if_closed(plane: &ControlPlane) -> Result<(), Problem> {
    match plane.registration {
        config::Registration::Open => Ok(()),
        config::Registration::Closed => Err(Problem::new(
            ErrorCode::Forbidden,
            "Registration is closed on this server (`accounts.registration`). Ask a member of an organization to \
             invite you, or ask the operator to create one (`watchbell admin create-org`).",
        )),
    }
}

/// Everything that is wrong with a registration, or its parts.
fn checked(new: NewRegistration) -> Result<(String, EmailAddress, Password), Problem> {
    let org_name = organization_name::parse(&new.organization, "/organisation");
    let email = EmailAddress::parse_field(&new.email);
    let password = match &email {
        Ok(email) => Password::parse(new.password, email),
        Err(_) => Password::parse_alone(new.password),
    };
    match (org_name, email, password) {
        (Ok(org_name), Ok(email), Ok(password)) => Ok((org_name, email, password)),
        (org_name, email, password) => {
            let faults = [org_name.err(), email.err(), password.err()];
            Err(Problem::invalid(faults.into_iter().flatten().collect()))
        }
    }
}
