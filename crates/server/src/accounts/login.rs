//! `POST /v1/auth/login` and `/v1/auth/logout`.

use axum::{
    Json as JsonAnswer,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::AppendHeaders,
};
use domain::{
    SessionId,
    account::{EmailAddress, SecretToken, TokenKind, password, session_lifetime::AGE_MAX},
    error_code::ErrorCode,
    limit::Operation::LoginElsewhere,
};
use runtime::random;
use serde::Deserialize;
use store::sessions::NewSession;
use utoipa::ToSchema;

use super::{Accounts, refused_logins::Refusal, schema::WhoBody, security_log::tell};
use crate::{
    edge::{
        Problem, client_address::ClientAddress, known_browser::BrowserMark, strict_json::FormJson,
    },
    planes::ControlPlane,
    telemetry::metrics as names,
};

/// What is kept of what a browser says of itself.
const USER_AGENT_MAX: usize = 256;
const REFUSAL: &str = "The email address and password do not match. If you have just registered and this server sends email, open the link in the email first.";

pub type SetCookie = [(HeaderName, HeaderValue); 1];
/// Two headers of one name.
pub type Cookies = AppendHeaders<[(HeaderName, HeaderValue); 2]>;

/// The credentials of someone logging in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    #[schema(example = "ann@example.com")]
    email: String,
    password: String,
}

/// Logs in: sets the session cookie, and a cookie that identifies the browser next time.
///
/// Limited for each client address and for each account: `login_elsewhere` counts together all attempts from browsers
/// that have never logged in to the account before.
#[utoipa::path(
    post, path = "/v1/auth/login", tag = "accounts", request_body = Login,
    responses(
        (status = 200, description = "Logged in", body = WhoBody, headers(("Set-Cookie" = String, description = "The session cookie, and a separate cookie that identifies this browser"))),
    ),
)]
pub async fn login(
    State(plane): State<Accounts>,
    client: ClientAddress,
    headers: HeaderMap,
    FormJson(login): FormJson<Login>,
) -> Result<(Cookies, JsonAnswer<WhoBody>), Problem> {
    let email =
        EmailAddress::parse_field(&login.email).map_err(|fault| Problem::invalid(vec![fault]))?;
    // No account has such a password, whoever's it would be.
    if login.password.chars().count() > password::CHARS_MAX {
        return Err(refused());
    }
    let known = plane.store.credentials(&email).await?;
    let stored = known.as_ref().map(|known| known.password_hash.as_str());
    let mark = plane.door.cookie.read_mark(&headers);
    let mark = mark.filter(|mark| stored.is_some_and(|stored| mark.is_of(stored)));
    // Whoever guesses from many addresses uses up what unknown browsers have together, and keeps out nobody whose
    // browser is known. It is the same count whether there is such an account or not.
    let counted_as = mark
        .as_ref()
        .map_or_else(|| email.digest(), BrowserMark::name);
    let quotas = &plane.door.quotas;
    quotas.admit(LoginElsewhere, &counted_as).await?;
    let is_right = plane.passwords.check(login.password, stored).await?;
    let now = plane.clock.now();
    let known = match known {
        Some(known) if is_right => known,
        Some(known) => {
            plane.refusals.note(Refusal {
                org: known.organization.org,
                user: known.member.user,
                at: now,
                client_address: client.to_string(),
                user_agent: user_agent(&headers),
            });
            return Err(refused());
        }
        None => return Err(refused()),
    };
    let mark = mark.unwrap_or_else(|| BrowserMark::new(&known.password_hash));
    let token = SecretToken::new(TokenKind::Session, random::bytes());
    let session = NewSession {
        session: SessionId::new(now, random::bytes()),
        org: known.organization.org,
        user: known.member.user,
        token_hash: token.hash(),
        password_hash: known.password_hash,
        created_at: now,
        user_agent: user_agent(&headers),
        client_address: Some(client.to_string()),
    };
    if !plane.store.create_session(&session).await? {
        return Err(refused());
    }
    tell(&plane, known.organization.org).await;
    metrics::counter!(names::LOGINS, "outcome" => "succeeded").increment(1);
    let who = WhoBody::new(known.member, known.organization, &plane.operators);
    Ok((cookies(&plane, &token, &mark), JsonAnswer(who)))
}

/// Logs out: ends the session, if there is one, and clears the cookie.
///
/// Refused for a request with `Authorization`, because the cookie is ignored then.
#[utoipa::path(
    post, path = "/v1/auth/logout", tag = "accounts",
    responses(
        (status = 204, description = "Logged out"),
    ),
)]
pub async fn logout(
    State(plane): State<ControlPlane>,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<(StatusCode, SetCookie), Problem> {
    // Such a request was not asked which site it comes from, so it must not touch the session.
    if headers.contains_key(header::AUTHORIZATION) {
        let detail = "Log out with the session cookie alone, without `Authorization`.";
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    if let Some(token) = plane.door.cookie.read(&headers) {
        plane.door.quotas.may_guess(&client)?;
        let now = plane.clock.now();
        match plane.store.end_session_by_token(&token.hash(), now).await? {
            Some(org) => tell(&plane, org).await,
            None => plane.door.quotas.note_guess(&client).await,
        }
    }
    let cleared = [(header::SET_COOKIE, plane.door.cookie.clear())];
    Ok((StatusCode::NO_CONTENT, cleared))
}

/// What hands a session to a browser, and the mark that it is known by from now on. The session is first.
pub(super) fn cookies(plane: &ControlPlane, token: &SecretToken, mark: &BrowserMark) -> Cookies {
    let cookie = plane.door.cookie;
    AppendHeaders([
        (header::SET_COOKIE, cookie.set(token, AGE_MAX)),
        (header::SET_COOKIE, cookie.set_mark(mark)),
    ])
}

/// What a browser is known by from now on that somebody chose or proved this password with, without being let in yet.
pub(super) fn marked(plane: &ControlPlane, password_hash: &str) -> SetCookie {
    let mark = BrowserMark::new(password_hash);
    [(header::SET_COOKIE, plane.door.cookie.set_mark(&mark))]
}

/// One and the same answer, whatever was wrong.
fn refused() -> Problem {
    metrics::counter!(names::LOGINS, "outcome" => "failed").increment(1);
    Problem::new(ErrorCode::Unauthenticated, REFUSAL)
}

pub(super) fn user_agent(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::USER_AGENT)?.to_str().ok()?;
    Some(text.chars().take(USER_AGENT_MAX).collect())
}
