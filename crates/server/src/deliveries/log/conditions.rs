//! `GET /v1/deliveries/{id}/conditions`: why the rule matched, by its conditions at that time.

use axum::{Json, extract::State};
use domain::{
    DeliveryId,
    account::Scope,
    event::EventView,
    rule::explain::{Explanation, explain},
};
use journal::streams::Log;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    alerts::test_rule::{ExceptionBody, LeafBody},
    edge::{Caller, Problem, caller::DeliveriesRead, extract::IdInPath},
    planes::ControlPlane,
};

/// What the answer shows besides the delivery: the rule's conditions, and what the event holds.
const ALSO_NEEDED: [Scope; 2] = [Scope::RulesRead, Scope::EventsRead];

/// How the rule evaluated the event.
#[derive(Serialize)]
pub struct Conditions {
    rule_version: u32,
    #[serde(flatten)]
    explanation: Explanation,
}

/// How the rule evaluated the event.
#[derive(ToSchema)]
#[schema(as = DeliveryConditions)]
#[expect(
    dead_code,
    reason = "describes the body; `Conditions` is what is written"
)]
pub struct ConditionsBody {
    /// The version of the rule when the event matched.
    rule_version: u32,
    /// Whether this version matches the event. False only if the rule was being changed at that moment.
    matches: bool,
    /// Everything listed in `match`. Of the conditions with the same `path`, one has to pass.
    leaves: Vec<LeafBody>,
    /// The same for each pattern in `except`, in order.
    except: Vec<ExceptionBody>,
}

/// Explains why the rule matched the event of a delivery.
///
/// Evaluates the rule as it was when the event matched. Answers 404 for a test of an event that is not recorded, and if
/// that version of the rule is no longer kept.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}/conditions", tag = "deliveries",
    security(("api_key" = ["deliveries:read", "rules:read", "events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The delivery's id")),
    responses((status = 200, description = "The conditions", body = ConditionsBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(id): IdInPath<DeliveryId>,
) -> Result<Json<Conditions>, Problem> {
    caller.also_needs(&ALSO_NEEDED)?;
    let org = caller.org;
    plane.wait_until_fresh(org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(org, id).await?;
    let delivery = delivery.ok_or_else(|| Problem::not_found("delivery"))?;
    let event = plane.event(org, delivery.event).await?;
    let event = event.ok_or_else(|| Problem::not_found("event"))?;
    let (rule, at) = (delivery.rule, delivery.matched_at);
    let version = plane.store.rule_version_at(org, rule, at).await?;
    let version = version.ok_or_else(|| Problem::not_found("version of an alert rule"))?;
    // It was read before it was stored.
    let event = EventView::parse(&event.json).unwrap_or_default();
    Ok(Json(Conditions {
        rule_version: version.version,
        explanation: explain(&version.definition, &event),
    }))
}
