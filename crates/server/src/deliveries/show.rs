//! `/v1/deliveries`: where each delivery stands and every attempt that was made.

use axum::{Json, extract::State};
use domain::{AttemptId, DeliveryId, EventId, RuleId, Timestamp};
use journal::streams::Log;
use serde::Serialize;
use store::deliveries::{Attempt, Delivery};
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::DeliveriesRead,
        problem::Refusals,
        read::{IdInPath, PageParams, PageWanted, cursor},
    },
    planes::ControlPlane,
};

/// A delivery as it stands.
#[derive(Serialize, ToSchema)]
pub struct DeliveryBody {
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: DeliveryId,
    #[schema(value_type = String)]
    event_id: EventId,
    #[schema(value_type = String)]
    rule_id: RuleId,
    rule_name: String,
    event_type: String,
    url: String,
    /// `match`; `test`, if somebody tried out the rule; or `summary`, of alerts that were suppressed.
    cause: String,
    /// How many alerts a summary stands for.
    suppressed: u32,
    /// `pending`, `scheduled`, `delivered`, `held` or `failed`; `suppressed`, `snoozed` or `shadow` if the rule
    /// does not send it.
    state: String,
    /// How many attempts have been made.
    attempts: u32,
    #[schema(value_type = String, format = DateTime)]
    matched_at: Timestamp,
    /// When the next attempt is due.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
}

/// A delivery and its attempts, oldest first.
#[derive(Serialize, ToSchema)]
pub struct DeliveryDetail {
    #[serde(flatten)]
    delivery: DeliveryBody,
    attempt_log: Vec<AttemptBody>,
    /// False if what happened last may be missing, because the record is behind.
    fresh: bool,
}

/// One attempt.
#[derive(Serialize, ToSchema)]
pub struct AttemptBody {
    #[schema(value_type = String, example = "att_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: AttemptId,
    /// From 1. Two attempts share a number if a worker died between a send and its record.
    number: u32,
    /// `match`, `retry`, `test` or `summary`.
    trigger: String,
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    finished_at: Timestamp,
    /// `X-Service-Timestamp` of this attempt.
    #[schema(value_type = String, format = DateTime)]
    signed_at: Timestamp,
    url: String,
    /// The address the attempt reached.
    remote_address: Option<String>,
    /// SHA-256 of the body as sent.
    body_sha256: String,
    body_bytes: u32,
    /// The receiver's status, if it answered.
    status: Option<u16>,
    /// `delivered`, `transient`, `rejected`, `redirect`, `permanent` or `blocked`.
    outcome: String,
    /// What went wrong, in plain words.
    error: Option<String>,
    /// The first 8 KiB of the answer.
    answer: String,
}

/// One page of deliveries.
#[derive(Serialize, ToSchema)]
pub struct DeliveryPage {
    data: Vec<DeliveryBody>,
    next_cursor: Option<String>,
    fresh: bool,
}

/// Lists deliveries, newest event first.
#[utoipa::path(
    get, path = "/v1/deliveries", tag = "deliveries", security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(PageParams),
    responses(
        (status = 200, description = "One page", body = DeliveryPage),
        Refusals,
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    page: PageWanted<DeliveryId>,
) -> Result<Json<DeliveryPage>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let page = plane
        .store
        .list_deliveries(caller.org, page.before, page.limit)
        .await?;
    let data = page.rows.into_iter().map(DeliveryBody::from).collect();
    Ok(Json(DeliveryPage {
        data,
        next_cursor: page.next.as_ref().map(cursor),
        fresh,
    }))
}

/// Shows one delivery with every attempt.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}", tag = "deliveries", security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The delivery's id, as in `X-Service-Delivery-Id`")),
    responses(
        (status = 200, description = "The delivery", body = DeliveryDetail),
        Refusals,
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(id): IdInPath<DeliveryId>,
) -> Result<Json<DeliveryDetail>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let delivery = plane
        .store
        .delivery(caller.org, id)
        .await?
        .ok_or_else(|| Problem::not_found("delivery"))?;
    let attempts = plane.store.attempts(caller.org, id).await?;
    let attempt_log = attempts.into_iter().map(AttemptBody::from).collect();
    Ok(Json(DeliveryDetail {
        delivery: DeliveryBody::from(delivery),
        attempt_log,
        fresh,
    }))
}

impl From<Delivery> for DeliveryBody {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.event,
            rule_id: delivery.rule,
            rule_name: delivery.rule_name,
            event_type: delivery.event_type,
            url: delivery.url,
            cause: delivery.cause,
            suppressed: delivery.suppressed,
            state: delivery.state,
            attempts: delivery.attempts,
            matched_at: delivery.matched_at,
            next_at: delivery.next_at,
        }
    }
}

impl From<Attempt> for AttemptBody {
    fn from(attempt: Attempt) -> Self {
        Self {
            id: attempt.id,
            number: attempt.number,
            trigger: attempt.trigger,
            due_at: attempt.due_at,
            started_at: attempt.started_at,
            finished_at: attempt.finished_at,
            signed_at: attempt.signed_at,
            url: attempt.url,
            remote_address: attempt.remote_address,
            body_sha256: attempt.body_sha256,
            body_bytes: attempt.body_bytes,
            status: attempt.status,
            outcome: attempt.outcome,
            error: attempt.error,
            answer: attempt.answer,
        }
    }
}
