//! `POST /v1/endpoints/{id}/verify`: asks an endpoint now whose it is; and what is shown of that.

use axum::{Json, extract::State};
use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::ownership::{Ownership, Proof},
    error_code::ErrorCode,
};
use journal::streams::Log;
use serde::Serialize;
use utoipa::ToSchema;

use super::manage::{EndpointDetail, detail, found};
use crate::{
    config::EndpointOwnership,
    edge::{Caller, Problem, caller::RulesWrite, enums::OwnershipState, extract::IdInPath},
    planes::ControlPlane,
};

/// Whether an endpoint has answered its challenge.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointOwnership)]
pub struct OwnershipBody {
    /// `unverified`: nothing is sent to it except the challenge. `verified`: it returned the challenge.
    #[schema(value_type = OwnershipState)]
    state: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    verified_at: Option<Timestamp>,
    /// When it was last sent a challenge.
    #[schema(value_type = Option<String>, format = DateTime)]
    asked_at: Option<Timestamp>,
    /// When it may be sent the next challenge; null if it is verified.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    /// What was wrong with its last answer, in plain words.
    error: Option<String>,
}

/// Sends an endpoint its challenge now.
///
/// Available only where the operator requires proof of who owns an endpoint (`delivery.endpoint_ownership`); elsewhere
/// it is refused (409). The response does not wait for the receiver: `ownership` shows the result a moment later. An
/// endpoint is not challenged twice within ten seconds; a verified one is not challenged, and a paused or disabled one
/// not until it is resumed.
#[utoipa::path(
    post, path = "/v1/endpoints/{id}/verify", tag = "endpoints",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "`endpoint_id` of a delivery")),
    responses((status = 200, description = "The challenge is being sent", body = EndpointDetail)),
)]
pub async fn verify(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<EndpointId>,
) -> Result<Json<EndpointDetail>, Problem> {
    let (endpoint, _) = found(&plane, caller.org, id).await?;
    if plane.endpoint_ownership != EndpointOwnership::Required {
        let detail = "This server does not require proof of who owns an endpoint (delivery.endpoint_ownership); there is nothing to verify.";
        return Err(Problem::new(ErrorCode::StateConflict, detail));
    }
    let now = plane.clock.now();
    let unasked = Ownership::new(caller.org, endpoint.url.as_str(), now);
    let ask = |ownership: &mut Ownership| ownership.ask_again(now);
    plane.journal.change_ownership(&unasked, ask).await?;
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    detail(&plane, endpoint).await.map(Json)
}

/// What is known of whose an endpoint is; `None` if nobody wants to know.
pub(super) async fn shown(
    plane: &ControlPlane,
    org: OrgId,
    id: EndpointId,
) -> Result<Option<OwnershipBody>, Problem> {
    if plane.endpoint_ownership != EndpointOwnership::Required {
        return Ok(None);
    }
    let entry = plane.journal.ownership(org, id).await?;
    let never = OwnershipBody {
        state: "unverified",
        verified_at: None,
        asked_at: None,
        next_at: None,
        error: None,
    };
    let ownership = entry.and_then(|entry| entry.value);
    Ok(Some(match ownership.map(|ownership| ownership.proof) {
        None => never,
        Some(Proof::Verified { at }) => OwnershipBody {
            state: "verified",
            verified_at: Some(at),
            ..never
        },
        Some(Proof::Unverified(asking)) => OwnershipBody {
            asked_at: asking.asked_at,
            next_at: Some(asking.ask_at),
            error: asking.error,
            ..never
        },
    }))
}
