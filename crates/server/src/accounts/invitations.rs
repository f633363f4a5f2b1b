//! `/v1/invitations`: how people join an organisation.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    InvitationId, Timestamp, UserId,
    account::{EmailAddress, Password, Role, SecretToken, TokenKind},
    error_code::ErrorCode,
    limit::Operation::Invite,
};
use runtime::chance;
use serde::{Deserialize, Serialize};
use store::invitations::{Invitation, LIFETIME, NotMade, OPEN_MAX};
use utoipa::ToSchema;

use super::{
    Accounts,
    login::{SetCookie, marked},
    members::refusal,
    password_reset::PasswordChosen,
    register::refuse_unproven_operator,
    schema::{link_token, token_invalid},
    tell::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        problem::{ProblemBody, Refusals},
        read::{IdInPath, Json, PageParams, PageWanted, cursor},
        strict_json::FormJson,
        words::MemberRole,
    },
    mail::Letter,
    planes::ControlPlane,
};

/// Who is to join, and as what.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitation {
    #[schema(example = "bob@example.com")]
    email: String,
    /// `owner`, `admin` or `viewer`.
    #[schema(value_type = MemberRole, example = "viewer")]
    role: Role,
}

/// An invitation that waits.
#[derive(Serialize, ToSchema)]
pub struct InvitationBody {
    #[schema(value_type = String, example = "inv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: InvitationId,
    #[schema(example = "bob@example.com")]
    email: String,
    #[schema(value_type = MemberRole, example = "viewer")]
    role: Role,
    #[schema(value_type = String, example = "usr_01jcq3k5m8e9ratvw2x4y6z8ab")]
    invited_by: UserId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Only on a server that sends no mail, and only when it is made: hand it over yourself.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// One page of invitations.
#[derive(Serialize, ToSchema)]
pub struct InvitationPage {
    data: Vec<InvitationBody>,
    next_cursor: Option<String>,
}

/// Invites somebody by mail, in place of an earlier invitation of theirs; for admins and owners.
///
/// Answers the same whether the address has an account or not. Somebody who has one is told so by
/// mail: an account belongs to one organisation. An organisation may make 50 invitations a day,
/// those counted too that were revoked or replaced since.
#[utoipa::path(
    post, path = "/v1/invitations", tag = "accounts", security(("session" = [])),
    request_body = NewInvitation,
    responses(
        (status = 201, description = "Invited", body = InvitationBody),
        Refusals,
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    by: Member<Admin>,
    Json(new): Json<NewInvitation>,
) -> Result<(StatusCode, JsonAnswer<InvitationBody>), Problem> {
    let email =
        EmailAddress::parse_field(&new.email).map_err(|fault| Problem::invalid(vec![fault]))?;
    refuse_unproven_operator(&plane, &email)?;
    let organisation = plane
        .store
        .organisation(by.org)
        .await?
        .ok_or_else(|| Problem::not_found("organisation"))?;
    // Here and not in a layer: what is refused before this, such as a viewer's, must not use up what
    // the organisation may do.
    let quotas = &plane.door.quotas;
    quotas.admit(Invite, &by.org.to_string()).await?;
    let now = plane.clock.now();
    let token = SecretToken::new(TokenKind::Link, chance::bytes());
    let invitation = Invitation {
        id: InvitationId::new(now, chance::bytes()),
        email,
        role: new.role,
        invited_by: by.user,
        created_at: now,
        expires_at: now.plus(LIFETIME),
    };
    plane
        .store
        .save_invitation(by.org, &invitation, &token.hash())
        .await?
        .map_err(not_made)?;
    tell(&plane, by.org).await;
    let mut body = InvitationBody::from(&invitation);
    match &plane.post {
        Some(post) => post.hand_in(Letter::Invitation {
            email: invitation.email,
            org_name: organisation.name,
            role: invitation.role,
            token,
        }),
        None => body.link = Some(plane.public_url.link("accept-invitation", token.reveal())),
    }
    Ok((StatusCode::CREATED, JsonAnswer(body)))
}

/// Lists the invitations that wait, newest first.
#[utoipa::path(
    get, path = "/v1/invitations", tag = "accounts", security(("session" = [])), params(PageParams),
    responses(
        (status = 200, description = "One page", body = InvitationPage),
        Refusals,
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    page: PageWanted<InvitationId>,
) -> Result<JsonAnswer<InvitationPage>, Problem> {
    let page = plane
        .store
        .list_invitations(member.org, page.before, page.limit, plane.clock.now())
        .await?;
    Ok(JsonAnswer(InvitationPage {
        data: page.rows.iter().map(InvitationBody::from).collect(),
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Takes an invitation back; for admins and owners.
#[utoipa::path(
    delete, path = "/v1/invitations/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The invitation's id")),
    responses(
        (status = 204, description = "Revoked"),
        Refusals,
    ),
)]
pub async fn revoke(
    State(plane): State<ControlPlane>,
    by: Member<Admin>,
    IdInPath(id): IdInPath<InvitationId>,
) -> Result<StatusCode, Problem> {
    plane
        .store
        .revoke_invitation(by.hand(plane.clock.now()), id)
        .await?
        .map_err(|refused| refusal(refused, "invitation"))?;
    tell(&plane, by.org).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Accepts an invitation by the token that was mailed: makes the account.
#[utoipa::path(
    post, path = "/v1/auth/accept-invitation", tag = "accounts", request_body = PasswordChosen,
    responses(
        (status = 204, description = "The account is made; log in", headers(("Set-Cookie" = String, description = "The browser's mark"))),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Busy, or a dependency is down", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn accept(
    State(plane): State<Accounts>,
    FormJson(chosen): FormJson<PasswordChosen>,
) -> Result<(StatusCode, SetCookie), Problem> {
    let token = link_token(&chosen.token)?.hash();
    let email = plane
        .store
        .invitation_for(&token, plane.clock.now())
        .await?
        .ok_or_else(token_invalid)?;
    refuse_unproven_operator(&plane, &email)?;
    let password =
        Password::parse(chosen.password, &email).map_err(|fault| Problem::invalid(vec![fault]))?;
    let hash = plane.passwords.hash(password).await?;
    let now = plane.clock.now();
    let user = UserId::new(now, chance::bytes());
    let accepted = plane
        .store
        .accept_invitation(&token, user, &hash, now)
        .await?;
    let org = accepted.ok_or_else(token_invalid)?;
    tell(&plane, org).await;
    Ok((StatusCode::NO_CONTENT, marked(&plane, &hash)))
}

fn not_made(why: NotMade) -> Problem {
    match why {
        NotMade::NotAllowed => Problem::new(
            ErrorCode::Forbidden,
            "Admins and owners invite, and only an owner invites an owner.",
        ),
        NotMade::TooMany => {
            let detail =
                format!("{OPEN_MAX} invitations wait already; revoke some that are not needed.");
            Problem::new(ErrorCode::LimitReached, detail)
        }
    }
}

impl From<&Invitation> for InvitationBody {
    fn from(invitation: &Invitation) -> Self {
        Self {
            id: invitation.id,
            email: invitation.email.as_str().to_owned(),
            role: invitation.role,
            invited_by: invitation.invited_by,
            created_at: invitation.created_at,
            expires_at: invitation.expires_at,
            link: None,
        }
    }
}
