//! `GET` and `PATCH /v1/policies`, activate and roll back: which version answers agents, and how.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    OrgId,
    fault::Fault,
    guard::{FailMode, Settings},
    policy_state::PolicyState,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{body::PoliciesBody, change::Author};
use crate::{
    edge::{
        Caller, Problem,
        caller::{PoliciesRead, PoliciesWrite},
        enums::FailModeWord,
        extract::IdInPath,
        strict_json::PolicyJson,
    },
    planes::ControlPlane,
};

/// The settings to change.
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

/// What the person who activates a version expects.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyExpectation)]
pub struct Expectation {
    /// The version expected to be active; if another one is, nothing is changed (409 `STATE_CONFLICT`).
    expect_active: Option<u32>,
}

/// Returns the current state of the policies.
#[utoipa::path(
    get, path = "/v1/policies", tag = "policies", security(("api_key" = ["policies:read"]), ("session" = [])),
    responses((status = 200, description = "The current state", body = PoliciesBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    let standing = plane.store.policy_standing(caller.org).await?;
    described(&plane, caller.org, standing).await
}

/// Changes the guard's settings.
///
/// Fields you leave out stay unchanged. Once this returns, every node uses the new settings.
#[utoipa::path(
    patch, path = "/v1/policies", tag = "policies", security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = SettingsChange,
    responses((status = 200, description = "Changed and in effect", body = PoliciesBody)),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(change): PolicyJson<SettingsChange>,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    change.check()?;
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, _| Ok(standing.with_settings(change.applied_to(standing.settings))))
        .await?;
    described(&plane, caller.org, standing).await
}

/// Activates a version.
///
/// Every node answers according to it once this returns, or within a second. If it was in shadow, that ends.
/// Activating the active version changes nothing.
#[utoipa::path(
    post, path = "/v1/policies/versions/{version}/activate", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number")),
    request_body = Expectation,
    responses((status = 200, description = "Active", body = PoliciesBody)),
)]
pub async fn activate(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    IdInPath(version): IdInPath<u32>,
    PolicyJson(Expectation { expect_active }): PolicyJson<Expectation>,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, hand| standing.activate(version, expect_active, hand))
        .await?;
    described(&plane, caller.org, standing).await
}

/// Activates the version that was active before.
///
/// This can be done only once: a request that is sent twice does not undo itself.
#[utoipa::path(
    post, path = "/v1/policies/rollback", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = Expectation,
    responses((status = 200, description = "Rolled back", body = PoliciesBody)),
)]
pub async fn roll_back(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(Expectation { expect_active }): PolicyJson<Expectation>,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, hand| standing.roll_back(expect_active, hand))
        .await?;
    described(&plane, caller.org, standing).await
}

pub(super) async fn described(
    plane: &ControlPlane,
    org: OrgId,
    standing: PolicyState,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    let placed: Vec<u32> = [Some(standing.active.version), standing.shadow_version()]
        .into_iter()
        .flatten()
        .collect();
    let digests = plane.store.policy_digests(org, &placed).await?;
    Ok(JsonAnswer(PoliciesBody::new(standing, &digests)))
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
