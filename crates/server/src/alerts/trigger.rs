//! `POST /v1/alert-rules/{id}/trigger`: a real delivery to a rule's endpoint, to try it out.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    DeliveryId, EventId, OrgId, RuleId,
    delivery::Cause,
    event::{self, EventView, Sent, Source, accept::Arrival},
    fault::Fault,
    id::Tail,
    rule::{Pattern, sample},
};
use journal::{
    frames::Frames,
    record::{Job, Matched, OutcomeRecord},
    streams::Log,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{given, rules::first_asked};
use crate::{
    chance,
    edge::{
        Caller, Problem, caller::RulesWrite, idempotency_key::IdempotencyKey, problem::Refusals,
        read::IdInPath, strict_json::RuleJson,
    },
    planes::ControlPlane,
};

/// What a test delivery carries: one of these, or neither for a sample that is made to fit the rule.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleTrigger)]
pub struct TriggerBody {
    /// An event as it would be sent to `/v1/audit/events`. It is delivered and not recorded.
    #[schema(value_type = Option<Object>)]
    event: Option<Box<RawValue>>,
    /// A stored event.
    event_id: Option<String>,
}

/// A test delivery on its way.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleTriggered)]
pub struct TriggerAnswer {
    /// `GET /v1/deliveries/{id}` shows what became of it.
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    delivery_id: DeliveryId,
    /// Whether the rule wants the event that it carries.
    matches: bool,
}

/// Sends a test delivery to a rule's endpoint.
///
/// It goes the way of every delivery: queued, signed, tried again, in the log; `X-Service-Trigger` is `test`.
/// The rule need not want the event, and may be disabled, snoozed or in shadow mode. It counts nowhere.
#[utoipa::path(
    post, path = "/v1/alert-rules/{id}/trigger", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Names the request, as for making a rule: sent again with the same key within 24 hours it sends no second delivery"),
    ),
    request_body = TriggerBody,
    responses((status = 202, description = "Queued", body = TriggerAnswer), Refusals),
)]
pub async fn trigger(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    key: IdempotencyKey,
    RuleJson(body): RuleJson<TriggerBody>,
) -> Result<(StatusCode, JsonAnswer<TriggerAnswer>), Problem> {
    let rule = given::saved(&plane, caller.org, id).await?;
    let name = key.name(&caller)?;
    let said = format!("{id} {body:?}");
    let (event, json) = match (body.event, body.event_id) {
        (None, None) => made_to_fit(&plane, caller.org, &rule.definition.pattern)?,
        (Some(given), None) => accepted(&plane, caller.org, given.get())
            .map_err(|fault| given::invalid_in("/event", vec![fault]))?,
        (None, Some(id)) => given::stored(&plane, caller.org, &id).await?,
        (Some(_), Some(_)) => return Err(given::either("/event", "`event` or `event_id`")),
    };
    let view = EventView::parse(&json).unwrap_or_default();
    let matches = rule.definition.matches(&view);
    let now = plane.clock.now();
    // Not derived from event and rule: it is no match, and every one is a delivery of its own.
    let (delivery_id, came_before) = match &name {
        None => (DeliveryId::new(now, chance::bytes()), false),
        Some(name) => {
            let (at, came_before) = first_asked(&plane, name, &said, now).await?;
            (name.delivery_id(at), came_before)
        }
    };
    let answer = TriggerAnswer {
        delivery_id,
        matches,
    };
    let accepted = (StatusCode::ACCEPTED, JsonAnswer(answer));
    if came_before && was_attempted(&plane, caller.org, delivery_id).await? {
        return Ok(accepted);
    }
    let event_type = view.text("event_type").unwrap_or_default();
    let delivery = (delivery_id, Cause::Test);
    let matched = Matched::by(&rule, delivery, (event, &event_type), now);
    queue(&plane, Job::first(matched, json)).await?;
    Ok(accepted)
}

/// One that is on record without an attempt may not be queued; queued again it is recognised.
async fn was_attempted(plane: &ControlPlane, org: OrgId, id: DeliveryId) -> Result<bool, Problem> {
    plane.wait_until_fresh(org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(org, id).await?;
    Ok(delivery.is_some_and(|delivery| delivery.attempts > 0))
}

/// On record before it is queued, so that no attempt is recorded before its delivery.
async fn queue(plane: &ControlPlane, job: Job) -> Result<(), Problem> {
    let record = OutcomeRecord::Matched(job.matched.clone());
    let outcomes = plane.outcomes.of(job.matched.org);
    outcomes.append(Frames::from_iter([record])).await?;
    Ok(plane.journal.deliver_all(&[job]).await?)
}

/// A sample for the pattern; a plain one, if no event could be as the pattern wants it.
fn made_to_fit(
    plane: &ControlPlane,
    org: OrgId,
    pattern: &Pattern,
) -> Result<(EventId, String), Problem> {
    let fitting = sample::sample(pattern).to_string();
    accepted(plane, org, &fitting)
        .or_else(|_| accepted(plane, org, &sample::plain_sample().to_string()))
        .map_err(|fault| Problem::invalid(vec![fault]))
}

/// An event by the checks that every event passes, as it would be stored.
fn accepted(plane: &ControlPlane, org: OrgId, json: &str) -> Result<(EventId, String), Fault> {
    let arrival = Arrival {
        org,
        source: Source::Test,
        received_at: plane.clock.now(),
        retention: plane.retention,
    };
    let mut stored = String::new();
    let tail = Tail::Random(chance::bytes());
    let id = event::accept(&Sent::bare(json), &arrival, tail, &mut stored)?;
    Ok((id, stored))
}
