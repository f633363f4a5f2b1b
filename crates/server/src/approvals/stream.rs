//! Approvals as they are asked for and as they end: all of an organization for people, one for the agent that asked.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{body::Bytes, extract::State, response::Response};
use domain::{
    DecisionId, OrgId,
    approval::{Approval, Status},
};
use journal::approvals::ApprovalEntry;
use tokio::sync::broadcast;

use super::{body::ApprovalBody, history, query::WAIT_S_MAX, queue::wait_until_fresh};
use crate::{
    edge::{
        Caller, Problem,
        caller::{ApprovalsRead, DecisionsWrite},
        extract::IdInPath,
        recheck_auth::AuthRecheck,
        slots::Slot,
        sse,
    },
    planes::ControlPlane,
};

/// Streams decisions awaiting approval, and their outcomes.
///
/// Server-sent events: `ready` first, then an `approval` for each pending decision, for each newly escalated one and
/// for each that is resolved or times out. A client that reads too slowly is disconnected and has to start over.
#[utoipa::path(
    get, path = "/v1/runtime/approvals/stream", tag = "approvals",
    security(("api_key" = ["approvals:read"]), ("session" = [])),
    responses(
        (status = 200, description = "The stream; it ends when the key is revoked or the session ends", content_type = "text/event-stream", body = String),
    ),
)]
pub async fn all(
    State(plane): State<ControlPlane>,
    caller: Caller<ApprovalsRead>,
    standing: AuthRecheck<ApprovalsRead>,
) -> Result<Response, Problem> {
    let slot = plane.approval_streams.take(caller.org)?;
    // In this order: what is not in the list is news. So it does no harm if the list is made before the node has
    // heard of everything.
    let news = plane.approvals.changes();
    wait_until_fresh(&plane).await;
    let pending = plane.approvals.pending(caller.org, None, usize::MAX);
    let ready = [Bytes::from_static(sse::READY)].into_iter();
    let frames = pending.iter().map(|approval| frame(&plane, approval));
    let told = ApprovalSource {
        unsent: ready.chain(frames).collect(),
        news: News::All {
            org: caller.org,
            news,
        },
        plane: plane.clone(),
        _slot: slot,
    };
    Ok(sse::streamed(told, standing, plane.stopping.clone()))
}

/// Follows one decision until it is resolved.
///
/// Server-sent events: `ready` first, then an `approval` with the decision's current state, and a last one when it is
/// resolved or times out.
#[utoipa::path(
    get, path = "/v1/runtime/decisions/{id}/stream", tag = "decisions",
    security(("api_key" = ["decisions:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The decision's id")),
    responses(
        (status = 200, description = "The stream", content_type = "text/event-stream", body = String),
    ),
)]
pub async fn one(
    State(plane): State<ControlPlane>,
    caller: Caller<DecisionsWrite>,
    standing: AuthRecheck<DecisionsWrite>,
    IdInPath(id): IdInPath<DecisionId>,
) -> Result<Response, Problem> {
    let slot = plane.approval_streams.take(caller.org)?;
    let (first, news) = match plane.approvals.find(caller.org, id).await? {
        Some(found) => {
            caller.speaks_for(&found.approval.agent_id)?;
            (frame(&plane, &found.approval), News::of(&plane, found))
        }
        None => {
            let decision = history::decision(&plane, caller.org, id).await?;
            caller.speaks_for(&decision.summary.agent_id)?;
            (written(&decision.summary), News::Ended)
        }
    };
    let told = ApprovalSource {
        unsent: VecDeque::from([Bytes::from_static(sse::READY), first]),
        news,
        plane: plane.clone(),
        _slot: slot,
    };
    Ok(sse::streamed(told, standing, plane.stopping.clone()))
}

/// Where news comes from.
enum News {
    All {
        org: OrgId,
        news: broadcast::Receiver<Arc<Approval>>,
    },
    One(Box<ApprovalEntry>),
    Ended,
}

impl News {
    fn of(plane: &ControlPlane, found: ApprovalEntry) -> Self {
        if found.approval.status(plane.clock.now()) == Status::Pending {
            Self::One(Box::new(found))
        } else {
            Self::Ended
        }
    }

    /// The next news; `None` if there will be no more. Nothing is lost if the wait
    /// is given up.
    async fn next(&mut self, plane: &ControlPlane) -> Option<Bytes> {
        loop {
            match self {
                Self::All { org, news } => {
                    // A client that was too slow to hear all of it ends here.
                    let approval = news.recv().await.ok()?;
                    if approval.org_id == *org {
                        return Some(frame(plane, &approval));
                    }
                }
                Self::One(found) => {
                    let patience = Duration::from_secs(WAIT_S_MAX);
                    let found = ApprovalEntry::clone(found);
                    let approval = plane.approvals.wait(found, patience, &plane.stopping).await;
                    if approval.status(plane.clock.now()) != Status::Pending {
                        *self = Self::Ended;
                        return Some(frame(plane, &approval));
                    }
                    // The wait is over at once from here on.
                    if plane.stopping.is_cancelled() {
                        return None;
                    }
                }
                Self::Ended => return None,
            }
        }
    }
}

/// What a stream tells: what there is, then what comes.
struct ApprovalSource {
    plane: ControlPlane,
    unsent: VecDeque<Bytes>,
    news: News,
    _slot: Slot,
}

impl sse::Source for ApprovalSource {
    async fn next(&mut self) -> Option<Bytes> {
        match self.unsent.pop_front() {
            Some(bytes) => Some(bytes),
            None => self.news.next(&self.plane).await,
        }
    }
}

fn frame(plane: &ControlPlane, approval: &Approval) -> Bytes {
    written(&ApprovalBody::new(approval, plane.clock.now()))
}

fn written(approval: &ApprovalBody) -> Bytes {
    let json = serde_json::to_string(approval).expect("an approval always encodes");
    sse::message("approval", approval.decision_id.text().as_str(), &json)
}
