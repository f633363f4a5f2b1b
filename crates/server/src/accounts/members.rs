//! `/v1/members`: the people of an organisation, and what part each plays.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{Timestamp, UserId, account::Role, error_code::ErrorCode};
use serde::{Deserialize, Serialize};
use store::members::{Member as MemberRow, Refused};
use utoipa::ToSchema;

use super::tell::tell;
use crate::{
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        problem::Refusals,
        read::{IdInPath, Json, PageParams, PageWanted, cursor},
        words::MemberRole,
    },
    planes::ControlPlane,
};

/// Somebody who belongs to the organisation.
#[derive(Serialize, ToSchema)]
pub struct MemberBody {
    #[schema(value_type = String, example = "usr_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: UserId,
    #[schema(example = "ann@example.com")]
    email: String,
    #[schema(value_type = MemberRole, example = "viewer")]
    role: Role,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// One page of members.
#[derive(Serialize, ToSchema)]
pub struct MemberPage {
    data: Vec<MemberBody>,
    next_cursor: Option<String>,
}

/// What to change about a member.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberChange {
    /// `owner`, `admin` or `viewer`.
    #[schema(value_type = MemberRole, example = "admin")]
    role: Role,
}

/// Lists the members, newest first.
#[utoipa::path(
    get, path = "/v1/members", tag = "accounts", security(("session" = [])), params(PageParams),
    responses(
        (status = 200, description = "One page", body = MemberPage),
        Refusals,
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    page: PageWanted<UserId>,
) -> Result<JsonAnswer<MemberPage>, Problem> {
    let page = plane
        .store
        .list_members(member.org, page.before, page.limit)
        .await?;
    let data = page.rows.into_iter().map(MemberBody::from).collect();
    Ok(JsonAnswer(MemberPage {
        data,
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Gives a member another role; for admins and owners, and only owners make and unmake owners.
#[utoipa::path(
    patch, path = "/v1/members/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The member's id")),
    request_body = MemberChange,
    responses(
        (status = 200, description = "As it is now", body = MemberBody),
        Refusals,
    ),
)]
pub async fn change(
    State(plane): State<ControlPlane>,
    by: Member<Admin>,
    IdInPath(id): IdInPath<UserId>,
    Json(change): Json<MemberChange>,
) -> Result<JsonAnswer<MemberBody>, Problem> {
    let changed = plane
        .store
        .change_role(by.hand(plane.clock.now()), id, change.role)
        .await?
        .map_err(|refused| refusal(refused, "member"))?;
    tell(&plane, by.org).await;
    Ok(JsonAnswer(MemberBody::from(changed)))
}

/// Removes a member and ends their sessions; for admins and owners, and for oneself.
#[utoipa::path(
    delete, path = "/v1/members/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The member's id")),
    responses(
        (status = 204, description = "Removed"),
        Refusals,
    ),
)]
pub async fn remove(
    State(plane): State<ControlPlane>,
    by: Member<Anybody>,
    IdInPath(id): IdInPath<UserId>,
) -> Result<StatusCode, Problem> {
    plane
        .store
        .remove_member(by.hand(plane.clock.now()), id)
        .await?
        .map_err(|refused| refusal(refused, "member"))?;
    tell(&plane, by.org).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Why what was asked about `what` was not done.
pub(super) fn refusal(refused: Refused, what: &str) -> Problem {
    match refused {
        Refused::NotFound => Problem::not_found(what),
        Refused::NotAllowed => Problem::new(
            ErrorCode::Forbidden,
            "This needs the role `admin` or `owner`; only an owner makes and unmakes owners.",
        ),
        Refused::LastOwner => Problem::new(ErrorCode::LastOwner, ErrorCode::LastOwner.what_to_do()),
    }
}

impl From<MemberRow> for MemberBody {
    fn from(member: MemberRow) -> Self {
        Self {
            id: member.user,
            email: member.email,
            role: member.role,
            created_at: member.created_at,
        }
    }
}
