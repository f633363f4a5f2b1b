//! `/v1/invitations`: how people join an organization.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    InvitationId, Timestamp, UserId,
    account::{EmailAddress, Password, Role, SecretToken, TokenKind},
    error_code::ErrorCode,
    limit::Operation::Invite,
};
use runtime::random;
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
    security_log::tell,
};
use crate::{
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        enums::MemberRole,
        extract::{IdInPath, Json, PageParams, PageQuery, cursor},
        strict_json::FormJson,
    },
    mail::Letter,
    planes::ControlPlane,
};

/// Whom to invite, and with which role.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitation {
    #[schema(example = "bob@example.com")]
    email: String,
    /// `owner`, `admin` or `viewer`.
    #[schema(value_type = MemberRole, example = "viewer")]
    role: Role,
}

/// An open invitation.
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
    /// Only on a server that does not send email, and only when the invitation is created: pass it on yourself.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// One page of invitations.
#[derive(Serialize, ToSchema)]
pub struct InvitationPage {
    data: Vec<InvitationBody>,
    next_cursor: Option<String>,
}

/// Invites someone by email, replacing any earlier invitation to them; for admins and owners.
///
/// The response is the same whether or not the address has an account. Someone who already has one is told so by email:
/// an account belongs to one organization. An organization can make 50 invitations a day, including those revoked or
/// replaced since.
#[utoipa::path(
    post, path = "/v1/invitations", tag = "accounts", security(("session" = [])),
    request_body = NewInvitation,
    responses(
        (status = 201, description = "Invited", body = InvitationBody),
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
    let organization = plane
        .store
        .organization(by.org)
        .await?
        .ok_or_else(|| Problem::not_found("organization"))?;
    // Here and not in a layer: what is refused before this, such as a viewer's, must not use up what
    // the organization may do.
    let quotas = &plane.door.quotas;
    quotas.admit(Invite, &by.org.to_string()).await?;
    let now = plane.clock.now();
    let token = SecretToken::new(TokenKind::Link, random::bytes());
    let invitation = Invitation {
        id: InvitationId::new(now, random::bytes()),
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
            org_name: organization.name,
            role: invitation.role,
            token,
        }),
        None => body.link = Some(plane.public_url.link("accept-invitation", token.reveal())),
    }
    Ok((StatusCode::CREATED, JsonAnswer(body)))
}

/// Lists open invitations, newest first.
#[utoipa::path(
    get, path = "/v1/invitations", tag = "accounts", security(("session" = [])), params(PageParams),
    responses(
        (status = 200, description = "One page", body = InvitationPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    page: PageQuery<InvitationId>,
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

/// Revokes an invitation; for admins and owners.
#[utoipa::path(
    delete, path = "/v1/invitations/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The invitation's id")),
    responses(
        (status = 204, description = "Revoked"),
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

/// Accepts an invitation with the mailed token and creates the account.
#[utoipa::path(
    post, path = "/v1/auth/accept-invitation", tag = "accounts", request_body = PasswordChosen,
    responses(
        (status = 204, description = "The account was created; log in", headers(("Set-Cookie" = String, description = "The cookie that identifies this browser"))),
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
    let user = UserId::new(now, random::bytes());
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
            "Only admins and owners can invite people, and only an owner can invite an owner.",
        ),
        NotMade::TooMany => {
            let detail = format!(
                "{OPEN_MAX} invitations are already open; revoke some that are not needed."
            );
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
