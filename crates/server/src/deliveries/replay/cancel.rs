//! `POST /v1/deliveries/{id}/cancel`: a delivery that nobody wants any more.

use axum::{Json, extract::State};
use domain::{
    DeliveryId,
    delivery::{self, Reason},
    error_code::ErrorCode,
};
use journal::{
    frames::Frames,
    record::{OutcomeRecord, StateChanged},
    streams::Log,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    edge::{Caller, Problem, caller::RulesWrite, enums::DeliveryState, extract::IdInPath},
    planes::ControlPlane,
};

/// A delivery that will not be sent anymore.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryCanceled)]
pub struct CancelAnswer {
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    delivery_id: DeliveryId,
    /// `canceled`.
    #[schema(value_type = DeliveryState)]
    state: &'static str,
}

/// Cancels a pending, scheduled or held delivery.
///
/// An attempt already in progress is not interrupted: if the receiver accepts it, the delivery is `delivered` all the
/// same. A canceled delivery can be resent.
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/cancel", tag = "deliveries",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The delivery's id")),
    responses((status = 200, description = "Canceled", body = CancelAnswer)),
)]
pub async fn cancel(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<DeliveryId>,
) -> Result<Json<CancelAnswer>, Problem> {
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(caller.org, id).await?;
    let delivery = delivery.ok_or_else(|| Problem::not_found("delivery"))?;
    let answer = CancelAnswer {
        delivery_id: id,
        state: delivery::State::Canceled.as_str(),
    };
    match delivery.state.as_str() {
        "pending" | "scheduled" | "held" => {}
        "canceled" => return Ok(Json(answer)),
        state => {
            let detail = format!(
                "It is `{state}`: nothing more will be sent, so there is nothing to cancel."
            );
            return Err(Problem::new(ErrorCode::StateConflict, detail));
        }
    }
    // The workers first: what is on record as canceled is not sent. The round may have begun by a clock that is ahead
    // of ours.
    let round_at = delivery.round.map_or(delivery.matched_at, |round| round.at);
    let until = plane.clock.now().max(round_at);
    let round_at = plane.journal.cancel(id, until).await?;
    let canceled = OutcomeRecord::StateChanged(StateChanged {
        org: caller.org,
        delivery: id,
        state: delivery::State::Canceled,
        reason: Some(Reason::User),
        next_at: None,
        round_at,
    });
    let outcomes = plane.outcomes.of(caller.org);
    outcomes.append(Frames::from_iter([canceled])).await?;
    Ok(Json(answer))
}
