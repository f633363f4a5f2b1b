//! `GET` and `PATCH /v1/policies`, activate and roll back: which version answers agents, and how.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    OrgId,
    fault::Fault,
    guard::{FailMode, Settings},
    policies::Standing,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{body::StandingBody, change::Author};
use crate::{
    edge::{
        Caller, Problem,
        caller::{PoliciesRead, PoliciesWrite},
        problem::Refusals,
        read::IdInPath,
        strict_json::PolicyJson,
        words::FailModeWord,
    },
    planes::ControlPlane,
};

/// What shall be other than it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicySettingsChange)]
pub struct SettingsChange {
    /// `closed` or `open`.
    #[schema(value_type = Option<FailModeWord>, example = "closed")]
    fail_mode: Option<FailMode>,
    /// 10 to 604,800, which is 7 days.
    approval_timeout_s: Option<u32>,
    /// 10 to 604,800, which is 7 days.
    approval_valid_s: Option<u32>,
    /// Whether agents may ask with `"mode": "shadow"`, in which everything is allowed.
    shadow_mode_allowed: Option<bool>,
    /// Whether the key that asked for something may approve it.
    self_approval_allowed: Option<bool>,
}

/// What somebody believes who puts a version in force.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyExpectation)]
pub struct Expectation {
    /// The version that is active; if another is, nothing is changed (409 `STATE_CONFLICT`).
    expect_active: Option<u32>,
}

/// Shows where the policies stand.
#[utoipa::path(
    get, path = "/v1/policies", tag = "policies", security(("api_key" = ["policies:read"]), ("session" = [])),
    responses((status = 200, description = "Where they stand", body = StandingBody), Refusals),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
) -> Result<JsonAnswer<StandingBody>, Problem> {
    let standing = plane.store.policy_standing(caller.org).await?;
    described(&plane, caller.org, standing).await
}

/// Changes settings of the guard.
///
/// A field that is not given stays as it is. Once this returns, every node knows.
#[utoipa::path(
    patch, path = "/v1/policies", tag = "policies", security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = SettingsChange,
    responses((status = 200, description = "Changed, and in effect", body = StandingBody), Refusals),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(change): PolicyJson<SettingsChange>,
) -> Result<JsonAnswer<StandingBody>, Problem> {
    change.check()?;
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, _| Ok(standing.with_settings(change.applied_to(standing.settings))))
        .await?;
    described(&plane, caller.org, standing).await
}

/// Puts a version in force.
///
/// Once this returns, every node answers by it, or does within a second. If it was watched, that is over.
/// A version that is active already stays so.
#[utoipa::path(
    post, path = "/v1/policies/versions/{version}/activate", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number")),
    request_body = Expectation,
    responses((status = 200, description = "Active", body = StandingBody), Refusals),
)]
pub async fn activate(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    IdInPath(version): IdInPath<u32>,
    PolicyJson(Expectation { expect_active }): PolicyJson<Expectation>,
) -> Result<JsonAnswer<StandingBody>, Problem> {
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, hand| standing.activate(version, expect_active, hand))
        .await?;
    described(&plane, caller.org, standing).await
}

/// Puts the version in force that was active before.
///
/// That can be done once: a request that is sent twice does not undo itself.
#[utoipa::path(
    post, path = "/v1/policies/rollback", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = Expectation,
    responses((status = 200, description = "Rolled back", body = StandingBody), Refusals),
)]
pub async fn roll_back(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(Expectation { expect_active }): PolicyJson<Expectation>,
) -> Result<JsonAnswer<StandingBody>, Problem> {
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, hand| standing.roll_back(expect_active, hand))
        .await?;
    described(&plane, caller.org, standing).await
}

pub(super) async fn described(
    plane: &ControlPlane,
    org: OrgId,
    standing: Standing,
) -> Result<JsonAnswer<StandingBody>, Problem> {
    let placed: Vec<u32> = [Some(standing.active.version), standing.shadow_version()]
        .into_iter()
        .flatten()
        .collect();
    let digests = plane.store.policy_digests(org, &placed).await?;
    Ok(JsonAnswer(StandingBody::new(standing, &digests)))
}

impl SettingsChange {
    fn check(&self) -> Result<(), Problem> {
        let times = [
            ("approval_timeout_s", self.approval_timeout_s),
            ("approval_valid_s", self.approval_valid_s),
        ];
        let wrong = times.into_iter().filter(|(_, seconds)| {
            seconds.is_some_and(|seconds| !Settings::TIMES_S.contains(&seconds))
        });
        let faults: Vec<Fault> = wrong.map(|(name, _)| out_of_range(name)).collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Problem::invalid(faults))
        }
    }

    fn applied_to(&self, settings: Settings) -> Settings {
        Settings {
            fail_mode: self.fail_mode.unwrap_or(settings.fail_mode),
            approval_timeout_s: self
                .approval_timeout_s
                .unwrap_or(settings.approval_timeout_s),
            approval_valid_s: self.approval_valid_s.unwrap_or(settings.approval_valid_s),
            shadow_mode_allowed: self
                .shadow_mode_allowed
                .unwrap_or(settings.shadow_mode_allowed),
            self_approval_allowed: self
                .self_approval_allowed
                .unwrap_or(settings.self_approval_allowed),
        }
    }
}

fn out_of_range(name: &str) -> Fault {
    let (least, most) = Settings::TIMES_S.into_inner();
    let detail = format!("`{name}` must be from {least} to {most} seconds.");
    Fault::invalid(format!("/{name}"), detail)
}
