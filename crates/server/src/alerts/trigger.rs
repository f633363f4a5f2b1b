//! `POST /v1/alert-rules/{id}/trigger`: a real delivery to a rule's endpoint, to try it out.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    DeliveryId, EventId, OrgId, RuleId,
    delivery::{self, Cause},
    event::{self, EventView, Sent, Source, accept::Arrival},
    fault::Fault,
    id::Tail,
    idempotency::RequestName,
    rule::{Rule, sample},
};
use journal::{
    frames::Frames,
    record::{Job, Matched, OutcomeRecord},
    requeue::OnRecord,
    streams::Log,
};
use runtime::random;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::deliveries::Delivery;
use utoipa::ToSchema;

use super::load_inputs;
use crate::{
    edge::{
        Caller, Problem, caller::RulesWrite, extract::IdInPath, idempotency_key::IdempotencyKey,
        idempotent_request::Asking, strict_json::RuleJson,
    },
    planes::ControlPlane,
};

/// What a test delivery carries: one of these, or neither for a sample made to match the rule.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleTrigger)]
pub struct TriggerBody {
    /// An event as it would be sent to `/v1/audit/events`. It is delivered but not recorded.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Box<RawValue>>,
    /// The id of a stored event. Also needs the scope `events:read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
}

/// A test delivery that was queued.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleTriggered)]
pub struct TriggerAnswer {
    /// `GET /v1/deliveries/{id}` shows its progress.
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    delivery_id: DeliveryId,
    /// Whether the rule matches the event that it carries.
    matches: bool,
}

/// Sends a test delivery to a rule's endpoint.
///
/// It is handled like every delivery: queued, signed, retried and logged; `X-Service-Trigger` is `test`. The rule does
/// not have to match the event, and may be disabled, snoozed or in shadow mode. The test is not counted anywhere.
#[utoipa::path(
    post, path = "/v1/alert-rules/{id}/trigger", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "A unique key for this request, as when creating a rule: sending it again with the same key within 24 hours sends no second delivery"),
    ),
    request_body = TriggerBody,
    responses((status = 202, description = "Queued", body = TriggerAnswer)),
)]
pub async fn trigger(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    key: IdempotencyKey,
    RuleJson(body): RuleJson<TriggerBody>,
) -> Result<(StatusCode, JsonAnswer<TriggerAnswer>), Problem> {
    let rule = load_inputs::saved(&plane, caller.org, id).await?;
    let name = key.name(&caller)?;
    let mut asking = Asking::new(name, &body.said_to(id), plane.clock.now());
    asking.look(&plane.journal).await?;
    let mut carried = carried_by(&body, (&plane, &caller), &rule, &asking).await?;
    if asking.mark(&plane.journal).await? {
        carried = carried_by(&body, (&plane, &caller), &rule, &asking).await?;
    }
    let (event, json) = carried;
    let view = EventView::parse(&json).unwrap_or_default();
    let matches = rule.definition.matches(&view);
    // Not derived from event and rule: it is no match, and every one is a delivery of its own.
    let delivery_id = match asking.name() {
        None => DeliveryId::new(asking.at(), random::bytes()),
        Some(name) => name.delivery_id(asking.at()),
    };
    let event_type = view.text("event_type").unwrap_or_default();
    let delivery = (delivery_id, Cause::Test);
    let matched = Matched::by(&rule, delivery, (event, &event_type), asking.at());
    send(&plane, &asking, Job::first(matched, json)).await?;
    let answer = TriggerAnswer {
        delivery_id,
        matches,
    };
    Ok((StatusCode::ACCEPTED, JsonAnswer(answer)))
}

impl TriggerBody {
    /// What the request says. It is stored, so the text of a request never changes.
    fn said_to(&self, trigger: RuleId) -> String {
        #[derive(Serialize)]
        struct Said<'b> {
            trigger: RuleId,
            body: &'b TriggerBody,
        }
        let said = Said {
            trigger,
            body: self,
        };
        serde_json::to_string(&said).expect("plain fields always encode")
    }
}

/// Puts a delivery on record and then into the queue, so that no attempt is recorded before its delivery.
async fn send(plane: &ControlPlane, asking: &Asking, job: Job) -> Result<(), Problem> {
    let (org, seen_over) = (job.matched.org, plane.journal.connection());
    let before = if asking.came_before() {
        found(plane, asking, org, job.matched.delivery).await?
    } else {
        None
    };
    match before {
        Some(before) if before.state != delivery::State::Pending.as_str() => return Ok(()),
        Some(before) if before.was_attempted() => return Ok(()),
        // It may not be in the queue: whoever put it on record may have died.
        Some(_) => {}
        None => {
            let record = OutcomeRecord::Matched(job.matched.clone());
            let outcomes = plane.outcomes.of(org);
            outcomes.append(Frames::from_iter([record])).await?;
            return Ok(plane.journal.deliver_all(&[job]).await?);
        }
    }
    let nothing = OnRecord {
        seen_over,
        ..OnRecord::default()
    };
    let queued = plane
        .journal
        .deliver_again(vec![job], &nothing, plane.clock.now());
    Ok(queued.await?)
}

/// What is on record of a delivery that was asked for before.
async fn found(
    plane: &ControlPlane,
    asking: &Asking,
    org: OrgId,
    id: DeliveryId,
) -> Result<Option<Delivery>, Problem> {
    let is_fresh = plane.wait_until_fresh(org, Log::Outcomes).await?;
    asking.check_record(is_fresh, plane.clock.now())?;
    Ok(plane.store.delivery(org, id).await?)
}

/// The event that a request's delivery carries: the same however often the request is sent.
async fn carried_by(
    body: &TriggerBody,
    (plane, caller): (&ControlPlane, &Caller<RulesWrite>),
    rule: &Rule,
    asking: &Asking,
) -> Result<(EventId, String), Problem> {
    match (&body.event, &body.event_id) {
        (None, None) => made_to_fit(plane, rule, asking),
        (Some(given), None) => accepted(plane, rule.org_id, given.get(), asking)
            .map_err(|fault| load_inputs::invalid_in("/event", vec![fault])),
        (None, Some(id)) => load_inputs::stored(plane, caller, id).await,
        (Some(_), Some(_)) => Err(load_inputs::either("/event", "`event` or `event_id`")),
    }
}

/// A sample for the rule's pattern; a plain one, if no event could be as the pattern wants it.
fn made_to_fit(
    plane: &ControlPlane,
    rule: &Rule,
    asking: &Asking,
) -> Result<(EventId, String), Problem> {
    let fitting = sample::sample(&rule.definition.pattern).to_string();
    accepted(plane, rule.org_id, &fitting, asking)
        .or_else(|_| {
            let plain = sample::plain_sample().to_string();
            accepted(plane, rule.org_id, &plain, asking)
        })
        .map_err(|fault| Problem::invalid(vec![fault]))
}

/// An event by the checks that every event passes, as it would be stored.
fn accepted(
    plane: &ControlPlane,
    org: OrgId,
    json: &str,
    asking: &Asking,
) -> Result<(EventId, String), Fault> {
    let arrival = Arrival {
        org,
        source: Source::Test,
        received_at: asking.at(),
        retention: plane.retention,
    };
    let mut stored = String::new();
    let tail = asking.name().map(RequestName::test_event_tail);
    let tail = tail.unwrap_or_else(|| Tail::Random(random::bytes()));
    let id = event::accept(&Sent::bare(json), &arrival, tail, &mut stored)?;
    Ok((id, stored))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_a_request_says_is_stored_as_this_text() {
        let rule = RuleId::from_uuid(Uuid::from_u128(1));
        let said = |body: &str| {
            let body: TriggerBody = serde_json::from_str(body).expect("a body");
            body.said_to(rule)
        };
        assert_eq!(said("{}"), format!(r#"{{"trigger":"{rule}","body":{{}}}}"#));
        assert_eq!(
            said(r#"{"event": {"a": 1}}"#),
            format!(r#"{{"trigger":"{rule}","body":{{"event":{{"a": 1}}}}}}"#)
        );
        assert_eq!(
            said(r#"{"event_id": "evt_1"}"#),
            format!(r#"{{"trigger":"{rule}","body":{{"event_id":"evt_1"}}}}"#)
        );
    }
}
