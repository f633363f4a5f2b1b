//! `/v1/policies/versions`: policies as they were written, by whom, and when.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    OrgId, error_code::ErrorCode, fault::Fault, guard::PolicyText, policy_state::STARTER,
};

use super::{
    body::{SummaryBody, VersionBody, VersionPage},
    change::{Author, Kept, no_such_version},
    starter,
    validate::{NewVersion, checked},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::{PoliciesRead, PoliciesWrite},
        extract::{IdInPath, PageParams, PageQuery, check_note, cursor},
        strict_json::PolicyJson,
    },
    planes::ControlPlane,
};

/// The longest note.
const NOTE_CHARS_MAX: usize = 500;

/// Creates a version.
///
/// It is checked strictly and has to pass its tests. It is not in force yet: watch it or activate it. If the newest
/// version already has the same content, no other is created, so it is safe to send the request again.
#[utoipa::path(
    post, path = "/v1/policies/versions", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = NewVersion,
    responses(
        (status = 201, description = "Created", body = VersionBody),
        (status = 200, description = "The newest version already has this content; it is returned", body = VersionBody),
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(new): PolicyJson<NewVersion>,
) -> Result<(StatusCode, JsonAnswer<VersionBody>), Problem> {
    check_note(new.note.as_deref(), NOTE_CHARS_MAX)?;
    let written = checked(&plane, caller.org, new).await?;
    let author = Author::of(&plane, &caller);
    match author.write(written).await? {
        Kept::Anew(version) => Ok((StatusCode::CREATED, JsonAnswer((*version).into()))),
        Kept::AlreadyAs(version) => {
            let found = found(&plane, caller.org, version).await?;
            Ok((StatusCode::OK, JsonAnswer(found)))
        }
    }
}

/// Lists versions, newest first.
///
/// The last one is the starter, which every organization begins with.
#[utoipa::path(
    get, path = "/v1/policies/versions", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    params(PageParams),
    responses((status = 200, description = "One page", body = VersionPage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
    wanted: PageQuery<u32>,
) -> Result<JsonAnswer<VersionPage>, Problem> {
    let page = plane
        .store
        .list_policy_versions(caller.org, wanted.before, wanted.limit)
        .await?;
    let has_room = page.rows.len() < wanted.limit as usize;
    let oldest = page.rows.last().map(|summary| summary.version);
    let mut data: Vec<SummaryBody> = page.rows.into_iter().map(SummaryBody::from).collect();
    let is_starter_wanted = wanted.before.is_none_or(|before| before > STARTER);
    // The starter is no row, and comes after the last.
    let next = if has_room {
        data.extend(is_starter_wanted.then(SummaryBody::starter));
        None
    } else {
        oldest
    };
    Ok(JsonAnswer(VersionPage {
        data,
        next_cursor: next.as_ref().map(cursor),
    }))
}

/// Returns one version in full.
#[utoipa::path(
    get, path = "/v1/policies/versions/{version}", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number")),
    responses((status = 200, description = "The version", body = VersionBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
    IdInPath(version): IdInPath<u32>,
) -> Result<JsonAnswer<VersionBody>, Problem> {
    found(&plane, caller.org, version).await.map(JsonAnswer)
}

async fn found(plane: &ControlPlane, org: OrgId, version: u32) -> Result<VersionBody, Problem> {
    if version == STARTER {
        return Ok(VersionBody::starter());
    }
    let found = plane.store.policy_version(org, version).await?;
    found.map(VersionBody::from).ok_or_else(no_such_version)
}

/// What a version says.
pub(super) async fn text_of(
    plane: &ControlPlane,
    org: OrgId,
    version: u32,
) -> Result<PolicyText, Problem> {
    if version == STARTER {
        return Ok(starter::text().clone());
    }
    let found = plane.store.policy_text(org, version).await?;
    found.ok_or_else(no_such_version)
}

/// The version that somebody names, or the one that is active.
pub(super) async fn named_or_active(
    plane: &ControlPlane,
    org: OrgId,
    named: Option<u32>,
) -> Result<u32, Problem> {
    match named {
        Some(version) => Ok(version),
        None => Ok(plane.store.policy_standing(org).await?.active.version),
    }
}

/// What a client is told of a saved version that cannot be read. Each was read before it was saved.
pub(super) fn unreadable(org: OrgId, faults: &[Fault]) -> Problem {
    tracing::error!(?faults, org.id = %org, "could not read a saved policy version");
    Problem::new(ErrorCode::Internal, ErrorCode::Internal.summary())
}
