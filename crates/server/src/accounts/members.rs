//! `/v1/members`: the people of an organization, and what part each plays.

use axum::{
    Json as JsonAnswer,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};
use domain::{
    Timestamp, UserId,
    account::{KeyHash, Role},
    error_code::ErrorCode,
};
use journal::kv::Change;
use serde::{Deserialize, Serialize};
use store::members::{ListedMember, Member as MemberRow, Refused, TheirKeys};
use utoipa::ToSchema;

use super::security_log::tell;
use crate::{
    announce,
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        enums::MemberRole,
        extract::{self, IdInPath, Json, PageParams, PageQuery, cursor},
    },
    planes::ControlPlane,
};

/// A member of the organization.
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
    /// How many working API keys they created, which are revoked if they are removed.
    api_keys: u64,
}

/// One page of members.
#[derive(Serialize, ToSchema)]
pub struct MemberPage {
    data: Vec<MemberBody>,
    next_cursor: Option<String>,
}

/// A change to a member.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberChange {
    /// `owner`, `admin` or `viewer`.
    #[schema(value_type = MemberRole, example = "admin")]
    role: Role,
}

/// How a member is removed.
#[derive(Clone, Copy, Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RemovalParams {
    /// Whether the API keys they created keep working (default false). They may know those keys, so you cannot keep
    /// your own.
    #[param(rename = "keep_keys", required = false)]
    keeps_keys: bool,
}

/// Lists the members, newest first.
#[utoipa::path(
    get, path = "/v1/members", tag = "accounts", security(("session" = [])), params(PageParams),
    responses(
        (status = 200, description = "One page", body = MemberPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    page: PageQuery<UserId>,
) -> Result<JsonAnswer<MemberPage>, Problem> {
    let page = plane
        .store
        .list_members(member.org, page.before, page.limit, plane.clock.now())
        .await?;
    let body = |one: ListedMember| MemberBody::new(one.member, one.api_keys);
    let data = page.rows.into_iter().map(body).collect();
    Ok(JsonAnswer(MemberPage {
        data,
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Changes a member's role; for admins and owners, and only owners can add or remove owners.
#[utoipa::path(
    patch, path = "/v1/members/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The member's id")),
    request_body = MemberChange,
    responses(
        (status = 200, description = "The member after the change", body = MemberBody),
    ),
)]
pub async fn change(
    State(plane): State<ControlPlane>,
    by: Member<Admin>,
    IdInPath(id): IdInPath<UserId>,
    Json(change): Json<MemberChange>,
) -> Result<JsonAnswer<MemberBody>, Problem> {
    let now = plane.clock.now();
    let changed = plane
        .store
        .change_role(by.hand(now), id, change.role)
        .await?
        .map_err(|refused| refusal(refused, "member"))?;
    tell(&plane, by.org).await;
    let api_keys = plane.store.keys_made_by(by.org, id, now).await?;
    Ok(JsonAnswer(MemberBody::new(changed, api_keys)))
}

/// Removes a member, ends their sessions and revokes the API keys they created; for admins, owners and the member.
///
/// With `keep_keys=true`, keys that agents need keep working; rotate them soon, because the person who created them may
/// know them. For the same reason, you cannot keep your own keys.
#[utoipa::path(
    delete, path = "/v1/members/{id}", tag = "accounts", security(("session" = [])),
    params(("id" = String, Path, description = "The member's id"), RemovalParams),
    responses(
        (status = 204, description = "Removed"),
    ),
)]
pub async fn remove(
    State(plane): State<ControlPlane>,
    by: Member<Anybody>,
    IdInPath(id): IdInPath<UserId>,
    wanted: RemovalParams,
) -> Result<StatusCode, Problem> {
    if wanted.keeps_keys && id == by.user {
        let detail = "Keys that you created are revoked when you leave, because you may know them. Someone else can remove you and keep them.";
        return Err(Problem::new(ErrorCode::Forbidden, detail));
    }
    let keys = if wanted.keeps_keys {
        TheirKeys::Kept
    } else {
        TheirKeys::Revoked
    };
    let gone = |hash: &KeyHash| announce::entry(Change::key_gone(hash));
    let revoked = plane
        .store
        .remove_member(by.hand(plane.clock.now()), id, keys, gone)
        .await?
        .map_err(|refused| refusal(refused, "member"))?;
    let known = if revoked == 0 {
        Ok(())
    } else {
        plane
            .announce(|| {
                format!(
                    "The member {id} is removed, but nodes keep accepting the keys they created ({revoked}) until the journal is back."
                )
            })
            .await
    };
    tell(&plane, by.org).await;
    known?;
    Ok(StatusCode::NO_CONTENT)
}

impl<S: Send + Sync> FromRequestParts<S> for RemovalParams {
    type Rejection = Problem;

    /// `keep_keys` at most once, and nothing else: a misspelled parameter would silently revoke.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let keeps_keys = extract::flag(parts, state, "keep_keys").await?;
        Ok(Self { keeps_keys })
    }
}

/// Why what was asked about `what` was not done.
pub(super) fn refusal(refused: Refused, what: &str) -> Problem {
    match refused {
        Refused::NotFound => Problem::not_found(what),
        Refused::NotAllowed => Problem::new(
            ErrorCode::Forbidden,
            "This needs the role `admin` or `owner`; only an owner can add or remove owners.",
        ),
        Refused::LastOwner => Problem::new(ErrorCode::LastOwner, ErrorCode::LastOwner.what_to_do()),
    }
}

impl MemberBody {
    fn new(member: MemberRow, api_keys: u64) -> Self {
        Self {
            id: member.user,
            email: member.email,
            role: member.role,
            created_at: member.created_at,
            api_keys,
        }
    }
}
