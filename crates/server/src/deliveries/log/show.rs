//! `GET /v1/deliveries/{id}`: where a delivery stands and why, and the attempts that were made.

use axum::{Json, extract::State};
use domain::{
    AttemptId, DeliveryId, EndpointId, EventId, OrgId, RuleId, Timestamp,
    delivery::endpoint::Endpoint,
};
use journal::streams::Log;
use serde::Serialize;
use store::deliveries::{Attempt, Delivery};
use utoipa::ToSchema;

use super::{explain::explanation, rebuild};
use crate::{
    edge::{
        Caller, Problem,
        caller::DeliveriesRead,
        enums::{AttemptOutcome, AttemptTrigger, DeliveryCause, DeliveryReason, DeliveryState},
        extract::IdInPath,
    },
    planes::ControlPlane,
};

/// A delivery in its current state.
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
    /// Where it was to go when the event matched; its attempts say where they actually went.
    url: String,
    /// The endpoint of this URL: `GET /v1/endpoints/{id}`.
    #[schema(value_type = String)]
    endpoint_id: EndpointId,
    /// `match`; `test` if someone tested the rule; or `summary` of suppressed alerts.
    #[schema(value_type = DeliveryCause)]
    cause: String,
    /// How many alerts a summary covers.
    suppressed: u32,
    /// `pending`, `scheduled`, `delivered`, `held`, `failed` or `canceled`; `suppressed`, `snoozed` or `shadow` if the
    /// rule does not send it.
    #[schema(value_type = DeliveryState)]
    state: String,
    /// Why it is held (`paused`, `disabled`, `breaker`, `retry_after`, `unverified`, `blocked`), failed (`exhausted`,
    /// `expired`, `permanent`) or canceled (`user`, `rule_deleted`).
    #[schema(value_type = Option<DeliveryReason>)]
    reason: Option<String>,
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
    /// Why it is in this state and what happens next, in plain words.
    explanation: String,
    /// The newest 100 attempts, oldest first; `attempts` says how many there were.
    attempt_log: Vec<AttemptBody>,
    /// False if the latest changes may be missing because the record is behind.
    fresh: bool,
}

/// One attempt.
#[derive(Serialize, ToSchema)]
pub struct AttemptBody {
    #[schema(value_type = String, example = "att_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: AttemptId,
    /// Starts at 1. Two attempts share a number if a worker died between sending and recording.
    number: u32,
    /// `match`, `retry`, `test`, `summary`, `resend` or `recover`.
    #[schema(value_type = AttemptTrigger)]
    trigger: String,
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    finished_at: Timestamp,
    /// How long after its due time it was started.
    queued_ms: u64,
    timings: TimingsBody,
    /// `X-Service-Timestamp` of this attempt.
    #[schema(value_type = String, format = DateTime)]
    signed_at: Timestamp,
    /// What it was signed with: `initial`, or the ids of secrets; the first made the main signature.
    secrets: Vec<String>,
    url: String,
    /// The address the attempt reached.
    remote_address: Option<String>,
    /// The TLS version.
    tls: Option<String>,
    /// SHA-256 of the body as sent.
    body_sha256: String,
    body_bytes: u32,
    /// The receiver's HTTP status, if it answered.
    status: Option<u16>,
    /// `delivered`, `transient`, `rejected`, `redirect`, `permanent`, `gone`, `blocked` or `our_fault`.
    #[schema(value_type = AttemptOutcome)]
    outcome: String,
    /// What went wrong, in plain words.
    error: Option<String>,
    answer_headers: Vec<HeaderBody>,
    /// The first 8 KiB of the response.
    answer: String,
    /// How many seconds the receiver's clock is ahead of ours, according to its `Date` header.
    clock_skew_s: Option<i32>,
    /// How long the receiver asked us to wait.
    retry_after_s: Option<u32>,
    /// What was decided after it; null for attempts made before this was recorded.
    decision: Option<DecisionBody>,
}

/// When the phases of an attempt ended, in microseconds from its start. The first three apply only to a new connection.
#[derive(Serialize, ToSchema)]
#[schema(as = AttemptTimings)]
pub struct TimingsBody {
    resolved_us: Option<u32>,
    connected_us: Option<u32>,
    secured_us: Option<u32>,
    sent_us: Option<u32>,
    /// When the response headers had arrived.
    answered_us: Option<u32>,
}

/// A header of the receiver's response.
#[derive(Serialize, ToSchema)]
#[schema(as = AnswerHeader)]
pub struct HeaderBody {
    name: String,
    value: String,
}

/// The state of the delivery after an attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = AttemptDecision)]
pub struct DecisionBody {
    #[schema(value_type = DeliveryState)]
    state: String,
    #[schema(value_type = Option<DeliveryReason>)]
    reason: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
}

/// Returns one delivery with its newest 100 attempts.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}", tag = "deliveries", security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The delivery's id, as in `X-Service-Delivery-Id`")),
    responses(
        (status = 200, description = "The delivery", body = DeliveryDetail),
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
    let endpoint_id = EndpointId::of(caller.org, &delivery.url);
    let endpoint = match delivery.state.as_str() {
        "held" => in_trouble(&plane, caller.org, endpoint_id).await,
        _ => None,
    };
    let now = plane.clock.now();
    let explanation = explanation(&delivery, &attempts, endpoint.as_ref(), now);
    let attempt_log = attempts.into_iter().map(AttemptBody::from).collect();
    Ok(Json(DeliveryDetail {
        delivery: DeliveryBody::from(delivery),
        explanation,
        attempt_log,
        fresh,
    }))
}

/// An endpoint that is in trouble. Without the journal the explanation says less.
async fn in_trouble(plane: &ControlPlane, org: OrgId, id: EndpointId) -> Option<Endpoint> {
    let entry = plane.journal.endpoint(org, id).await;
    entry.ok().flatten().and_then(|entry| entry.value)
}

impl From<Delivery> for DeliveryBody {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.event,
            rule_id: delivery.rule,
            rule_name: delivery.rule_name,
            event_type: delivery.event_type,
            endpoint_id: EndpointId::of(delivery.org, &delivery.url),
            url: delivery.url,
            cause: delivery.cause,
            suppressed: delivery.suppressed,
            state: delivery.state,
            reason: delivery.reason,
            attempts: delivery.attempts,
            matched_at: delivery.matched_at,
            next_at: delivery.next_at,
        }
    }
}

impl From<Attempt> for AttemptBody {
    fn from(attempt: Attempt) -> Self {
        let queued = attempt.started_at.since(attempt.due_at);
        let phases = attempt.phases;
        let headers = attempt.answer_headers.into_iter();
        let (reason, next_at) = (attempt.reason, attempt.next_at);
        Self {
            id: attempt.id,
            number: attempt.number,
            trigger: attempt.trigger,
            due_at: attempt.due_at,
            started_at: attempt.started_at,
            finished_at: attempt.finished_at,
            queued_ms: u64::try_from(queued.as_millis()).unwrap_or(u64::MAX),
            timings: TimingsBody {
                resolved_us: phases.resolved_us,
                connected_us: phases.connected_us,
                secured_us: phases.secured_us,
                sent_us: phases.sent_us,
                answered_us: phases.answered_us,
            },
            signed_at: attempt.signed_at,
            secrets: rebuild::used(&attempt.secrets)
                .into_iter()
                .map(rebuild::name)
                .collect(),
            url: attempt.url,
            remote_address: attempt.remote_address,
            tls: attempt.tls,
            body_sha256: attempt.body_sha256,
            body_bytes: attempt.body_bytes,
            status: attempt.status,
            outcome: attempt.outcome,
            error: attempt.error,
            answer_headers: headers
                .map(|(name, value)| HeaderBody { name, value })
                .collect(),
            answer: attempt.answer,
            clock_skew_s: attempt.clock_skew_s,
            retry_after_s: attempt.retry_after_s,
            decision: attempt.state.map(|state| DecisionBody {
                state,
                reason,
                next_at,
            }),
        }
    }
}
