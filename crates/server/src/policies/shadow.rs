//! Shadow: a version is asked with the active one and not obeyed; the report says how often it disagreed.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{Timestamp, error_code::ErrorCode, policy_state::Placed};
use policy::recorded::Recorded;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    active_version::described,
    body::PoliciesBody,
    change::Author,
    decision_scan::{Look, walk},
    flips::{Compared, FlipsBody},
    versions::text_of,
};
use crate::{
    edge::{
        Caller, Problem,
        caller::{PoliciesRead, PoliciesWrite},
        extract::IdInPath,
    },
    planes::ControlPlane,
};

/// How the version in shadow answered the questions that agents asked.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyShadowReport)]
pub struct Report {
    version: u32,
    digest: String,
    /// Since when it has been in shadow.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    #[serde(flatten)]
    flips: FlipsBody,
    /// Whether all decisions since then were covered. If not, `searched_to` says how far back.
    complete: bool,
    /// Null if all were covered; otherwise only the decisions made at or after this time were.
    #[schema(value_type = Option<String>, format = DateTime)]
    searched_to: Option<Timestamp>,
}

/// Puts a version in shadow.
///
/// From now on it is evaluated alongside the active version, and each decision reports its answer in `shadow`; only the
/// active version is enforced. Only one version is in shadow at a time: another one
/// replaces it.
#[utoipa::path(
    post, path = "/v1/policies/versions/{version}/shadow", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number")),
    responses((status = 200, description = "In shadow", body = PoliciesBody)),
)]
pub async fn start(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    IdInPath(version): IdInPath<u32>,
) -> Result<JsonAnswer<PoliciesBody>, Problem> {
    let author = Author::of(&plane, &caller);
    let standing = author
        .change(|standing, hand| standing.start_shadow(version, hand))
        .await?;
    described(&plane, caller.org, standing).await
}

/// Takes the version out of shadow.
#[utoipa::path(
    delete, path = "/v1/policies/shadow", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    responses((status = 204, description = "No version is in shadow")),
)]
pub async fn stop(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
) -> Result<StatusCode, Problem> {
    let author = Author::of(&plane, &caller);
    author
        .change(|standing, _| Ok(standing.stop_shadow()))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reports what the version in shadow would have decided.
///
/// Covers the decisions since then, newest first: how many it would have decided differently, and how many it would
/// have denied.
#[utoipa::path(
    get, path = "/v1/policies/shadow", tag = "policies",
    security(("api_key" = ["policies:read"]), ("session" = [])),
    responses((status = 200, description = "The report", body = Report)),
)]
pub async fn report(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesRead>,
) -> Result<JsonAnswer<Report>, Problem> {
    let standing = plane.store.policy_standing(caller.org).await?;
    let shadow = standing.shadow.as_ref();
    let Some((version, since)) = shadow.and_then(when) else {
        return Err(Problem::new(
            ErrorCode::NotFound,
            "No policy version is in shadow.",
        ));
    };
    let digest = text_of(&plane, caller.org, version).await?.digest;
    let slot = plane.backtests.take(caller.org)?;
    let look = Beside {
        version,
        digest: digest.clone(),
        compared: Compared::default(),
    };
    let (looked, reached) = walk(&plane, caller.org, (since, None), look, slot).await?;
    Ok(JsonAnswer(Report {
        version,
        digest,
        since,
        flips: looked.compared.into(),
        complete: reached.searched_to.is_none(),
        searched_to: reached.searched_to,
    }))
}

fn when(shadow: &Placed) -> Option<(u32, Timestamp)> {
    Some((shadow.version, shadow.since?))
}

/// Compares what was said with what the version in shadow said beside it.
struct Beside {
    version: u32,
    digest: String,
    compared: Compared,
}

impl Look for Beside {
    fn look_at(&mut self, decision: &Recorded) {
        // A node that had not heard of it yet did not ask it.
        let said = decision.shadow.as_ref().filter(|said| {
            said.policy_version == self.version && said.policy_digest == self.digest
        });
        match said {
            Some(said) => self.compared.add(decision, said.decision, None),
            None => self.compared.skip(),
        }
    }

    fn skip(&mut self) {
        self.compared.skip();
    }
}
