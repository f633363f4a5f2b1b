//! `POST /v1/runtime/decisions/{id}/resolve`: a person approves or denies what was escalated.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    DecisionId,
    approval::{Approval, Refused, Resolution, Resolver},
    error_code::ErrorCode,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{audit_events::ApprovalPublisher, body::DecisionDetail, history};
use crate::{
    edge::{
        Caller, Problem,
        caller::ApprovalsWrite,
        extract::{IdInPath, Json, check_note},
        identity::Identity,
    },
    planes::ControlPlane,
};

/// Who has every scope could ask and approve alone.
const OWN_REQUEST: &str = "The API key that asked for this cannot approve it. A person can approve it in the console, \
                           or another key with `approvals:write` can; or an admin can set `self_approval_allowed` \
                           (PATCH /v1/policies) before the agent asks.";

/// A person's resolution.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Resolve)]
#[serde(deny_unknown_fields)]
pub struct ResolveBody {
    approve: bool,
    /// Why, at most 500 characters; passed to the agent and recorded in the trail.
    #[schema(example = "Known customer.")]
    note: Option<String>,
}

/// Approves or denies an escalated decision.
///
/// The first resolution counts; a later one is refused (409), and the refusal says who resolved it and when. The key
/// that asked cannot approve it (403) unless `self_approval_allowed` is set, but it can deny it. Anyone waiting for the
/// decision is notified immediately, and the trail records it (`event_type` `approval`).
#[utoipa::path(
    post, path = "/v1/runtime/decisions/{id}/resolve", tag = "approvals",
    security(("api_key" = ["approvals:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The decision's id")),
    request_body = ResolveBody,
    responses((status = 200, description = "Resolved", body = DecisionDetail)),
)]
pub async fn resolve(
    State(plane): State<ControlPlane>,
    caller: Caller<ApprovalsWrite>,
    IdInPath(id): IdInPath<DecisionId>,
    Json(said): Json<ResolveBody>,
) -> Result<JsonAnswer<DecisionDetail>, Problem> {
    let note = said.note.as_deref().map(str::trim);
    check_note(note, Approval::NOTE_CHARS_MAX)?;
    let resolution = Resolution {
        approved: said.approve,
        by: match &caller.identity {
            Identity::Key(key) => Resolver::Key(key.id),
            Identity::Session(session) => Resolver::User(session.user),
        },
        at: plane.clock.now(),
        note: note.filter(|note| !note.is_empty()).map(str::to_owned),
    };
    match plane.approvals.resolve(caller.org, id, &resolution).await? {
        Some(Ok(approval)) => {
            ApprovalPublisher::new(&plane).publish(&approval).await;
            let decision = DecisionDetail::new(approval, plane.clock.now());
            Ok(JsonAnswer(decision))
        }
        Some(Err(Refused::AlreadyResolved(before))) => Err(already(&before)),
        Some(Err(Refused::TimedOut)) => {
            let detail = "Nobody resolved it in time, so it was denied; the agent can ask again.";
            Err(Problem::new(ErrorCode::StateConflict, detail))
        }
        Some(Err(Refused::OwnRequest)) => Err(Problem::new(ErrorCode::Forbidden, OWN_REQUEST)),
        None => {
            // Not found, unless there is such a decision.
            history::decision(&plane, caller.org, id).await?;
            let detail = "This decision is not awaiting approval.";
            Err(Problem::new(ErrorCode::StateConflict, detail))
        }
    }
}

fn already(before: &Resolution) -> Problem {
    let how = if before.approved {
        "approved"
    } else {
        "denied"
    };
    let detail = format!("It was {how} by {} at {}.", before.by, before.at);
    Problem::new(ErrorCode::StateConflict, detail)
}
