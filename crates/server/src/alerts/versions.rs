//! `/v1/alert-rules/{id}/versions`: what a rule was, who made it that, and when.

use axum::{
    Json as JsonAnswer,
    extract::{Path, State},
};
use domain::RuleId;

use super::body::{VersionBody, VersionPage};
use crate::{
    edge::{
        Caller, Problem,
        caller::RulesRead,
        extract::{IdInPath, PageParams, PageQuery, cursor},
    },
    planes::ControlPlane,
};

/// Lists the versions of an alert rule, newest first.
///
/// The last 100 are kept; those of a deleted rule, for as long as events are.
#[utoipa::path(
    get, path = "/v1/alert-rules/{id}/versions", tag = "alert rules",
    security(("api_key" = ["rules:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id"), PageParams),
    responses(
        (status = 200, description = "One page", body = VersionPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    IdInPath(id): IdInPath<RuleId>,
    page: PageQuery<u32>,
) -> Result<JsonAnswer<VersionPage>, Problem> {
    let is_first = page.before.is_none();
    let page = plane
        .store
        .list_rule_versions(caller.org, id, page.before, page.limit)
        .await?;
    // A rule has one version at least.
    if is_first && page.rows.is_empty() {
        return Err(Problem::not_found("alert rule"));
    }
    Ok(JsonAnswer(VersionPage {
        data: page.rows.into_iter().map(VersionBody::from).collect(),
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Returns one version of an alert rule.
#[utoipa::path(
    get, path = "/v1/alert-rules/{id}/versions/{version}", tag = "alert rules",
    security(("api_key" = ["rules:read"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("version" = u32, Path, description = "The version's number"),
    ),
    responses(
        (status = 200, description = "The version", body = VersionBody),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    Path((id, version)): Path<(String, String)>,
) -> Result<JsonAnswer<VersionBody>, Problem> {
    let not_found = || Problem::not_found("version of an alert rule");
    let named: Option<(RuleId, u32)> = id.parse().ok().zip(version.parse().ok());
    let (id, version) = named.ok_or_else(not_found)?;
    let found = plane.store.rule_version(caller.org, id, version).await?;
    let version = found.ok_or_else(not_found)?;
    Ok(JsonAnswer(version.into()))
}
