//! `GET /v1/runtime/decisions/{id}`: a decision and what became of it, once it has ended if one likes to wait.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::{DecisionId, OrgId, approval::Status};
use futures::stream;
use journal::approvals::ApprovalEntry;

use super::{
    body::DecisionDetail,
    history,
    query::{Wait, WaitParams},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::{ApprovalsRead, DecisionsWrite},
        extract::IdInPath,
        slots::Slot,
    },
    planes::ControlPlane,
};

/// Returns a decision and, if it was escalated, its current state.
///
/// `decision` is `escalate` until someone resolves it or it times out, then `allow` or `deny`. On `allow`, ask again
/// with `approval`. With `wait`, the response arrives when the decision is resolved, or after that many seconds. A key
/// bound to agents sees only their decisions.
#[utoipa::path(
    get, path = "/v1/runtime/decisions/{id}", tag = "decisions",
    security(("api_key" = ["decisions:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The decision's id"), WaitParams),
    responses((status = 200, description = "The decision", body = DecisionDetail)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<DecisionsWrite>,
    IdInPath(id): IdInPath<DecisionId>,
    Wait(patience): Wait,
) -> Result<Response, Problem> {
    let Some(found) = plane.approvals.find(caller.org, id).await? else {
        let decision = history::decision(&plane, caller.org, id).await?;
        caller.speaks_for(&decision.summary.agent_id)?;
        return Ok(Json(decision).into_response());
    };
    caller.speaks_for(&found.approval.agent_id)?;
    let now = plane.clock.now();
    if patience.is_zero() || found.approval.status(now) != Status::Pending {
        return Ok(Json(DecisionDetail::new(found.approval, now)).into_response());
    }
    let slot = plane.approval_waits.take(caller.org)?;
    Ok(later(plane, found, patience, slot))
}

/// Returns what a person is asked to approve: the whole question and the payload.
#[utoipa::path(
    get, path = "/v1/runtime/approvals/{id}", tag = "approvals",
    security(("api_key" = ["approvals:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The decision's id")),
    responses((status = 200, description = "The decision", body = DecisionDetail)),
)]
pub async fn show_to_people(
    State(plane): State<ControlPlane>,
    caller: Caller<ApprovalsRead>,
    IdInPath(id): IdInPath<DecisionId>,
) -> Result<Json<DecisionDetail>, Problem> {
    decision(&plane, caller.org, id).await.map(Json)
}

/// A decision as it stands.
async fn decision(
    plane: &ControlPlane,
    org: OrgId,
    id: DecisionId,
) -> Result<DecisionDetail, Problem> {
    match plane.approvals.find(org, id).await? {
        Some(found) => Ok(DecisionDetail::new(found.approval, plane.clock.now())),
        None => history::decision(plane, org, id).await,
    }
}

/// An answer that has begun, and whose body comes when the decision has ended: what times requests out looks at
/// the begin of an answer only.
fn later(plane: ControlPlane, found: ApprovalEntry, patience: Duration, slot: Slot) -> Response {
    let body = stream::once(async move {
        let _slot = slot;
        let waiting = plane.approvals.wait(found, patience, &plane.stopping);
        let approval = waiting.await;
        let decision = DecisionDetail::new(approval, plane.clock.now());
        let json = serde_json::to_vec(&decision).expect("a decision always encodes");
        Ok::<_, Infallible>(Bytes::from(json))
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, Body::from_stream(body)).into_response()
}
