//! `POST /v1/runtime/decisions/{id}/resolve`: a person approves or denies what was escalated.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    DecisionId,
    approval::{Approval, Refused, Resolution, Resolver},
    error_code::ErrorCode,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{body::DecisionDetail, past};
use crate::{
    edge::{
        Caller, Problem,
        caller::ApprovalsWrite,
        identity::Identity,
        problem::Refusals,
        read::{IdInPath, Json, check_note},
    },
    planes::ControlPlane,
};

/// Who has every scope could ask and approve alone.
const OWN_REQUEST: &str = "The API key that asked for this cannot approve it. A person does in the console, or another key with \
                           `approvals:write`; or an admin sets `self_approval_allowed` (PATCH /v1/policies) before it is asked for.";

/// What a person says.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Resolve)]
#[serde(deny_unknown_fields)]
pub struct ResolveBody {
    approve: bool,
    /// Why, at most 500 characters; the agent and the trail are told.
    #[schema(example = "Known customer.")]
    note: Option<String>,
}

/// Approves or denies an escalated decision.
///
/// The first word counts; a later one is refused (409) and told by whom and when it was resolved. The key that asked
/// cannot approve it (403), unless `self_approval_allowed` says so; it may deny it. Whoever waits for the decision is
/// told at once, and so is the trail (`event_type` `approval`).
#[utoipa::path(
    post, path = "/v1/runtime/decisions/{id}/resolve", tag = "approvals",
    security(("api_key" = ["approvals:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The decision's id")),
    request_body = ResolveBody,
    responses((status = 200, description = "Resolved", body = DecisionDetail), Refusals),
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
            plane.teller().tell(&approval).await;
            let decision = DecisionDetail::new(approval, plane.clock.now());
            Ok(JsonAnswer(decision))
        }
        Some(Err(Refused::AlreadyResolved(before))) => Err(already(&before)),
        Some(Err(Refused::TimedOut)) => {
            let detail = "Nobody resolved it in time, so it was denied; the agent may ask again.";
            Err(Problem::new(ErrorCode::StateConflict, detail))
        }
        Some(Err(Refused::OwnRequest)) => Err(Problem::new(ErrorCode::Forbidden, OWN_REQUEST)),
        None => {
            // Not found, unless there is such a decision.
            past::decision(&plane, caller.org, id).await?;
            let detail = "This decision does not wait for anybody.";
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
