//! `GET /v1/runtime/approvals`: what waits for a person, oldest first.

use std::time::Duration;

use axum::{Json, extract::State};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::{
    body::ApprovalBody,
    query::{ApprovalsQuery, QueueParams},
};
use crate::{
    edge::{Caller, Problem, caller::ApprovalsRead, extract::cursor},
    planes::ControlPlane,
};

/// How long somebody waits until the node has heard of everything that was there before they asked.
const FRESH_TIMEOUT: Duration = Duration::from_secs(2);

/// One page of pending decisions.
#[derive(Serialize, ToSchema)]
pub struct ApprovalPage {
    data: Vec<ApprovalBody>,
    next_cursor: Option<String>,
    /// False if the newest requests or resolutions may be missing because the node is behind.
    fresh: bool,
}

/// Lists the decisions awaiting approval, oldest first.
#[utoipa::path(
    get, path = "/v1/runtime/approvals", tag = "approvals",
    security(("api_key" = ["approvals:read"]), ("session" = [])),
    params(QueueParams),
    responses((status = 200, description = "One page", body = ApprovalPage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<ApprovalsRead>,
    wanted: ApprovalsQuery,
) -> Result<Json<ApprovalPage>, Problem> {
    let fresh = wait_until_fresh(&plane).await;
    let now = plane.clock.now();
    let ApprovalsQuery { after, limit } = wanted;
    let mut pending = plane.approvals.pending(caller.org, after, limit + 1);
    let has_more = pending.len() > limit;
    pending.truncate(limit);
    let last = pending.last().filter(|_| has_more);
    Ok(Json(ApprovalPage {
        next_cursor: last.map(|last| cursor(&last.decision_id)),
        data: pending
            .iter()
            .map(|approval| ApprovalBody::new(approval, now))
            .collect(),
        fresh,
    }))
}

/// Waits until the node has heard of what was asked or resolved before; `false` if it is behind.
pub(super) async fn wait_until_fresh(plane: &ControlPlane) -> bool {
    let caught_up = timeout(FRESH_TIMEOUT, plane.approvals.catch_up()).await;
    matches!(caught_up, Ok(Ok(())))
}
