//! `POST /v1/deliveries/{id}/resend`: one delivery once more, whatever became of it.

use std::slice;

use axum::{Json, extract::State, http::StatusCode};
use domain::{
    DeliveryId, Timestamp,
    delivery::{self, LOST_AFTER, Reason, Trigger},
    error_code::ErrorCode,
};
use journal::{frames::Frames, requeue::is_recognized, streams::Log};
use serde::Serialize;
use store::deliveries::Delivery;
use utoipa::ToSchema;

use super::round;
use crate::{
    edge::{
        Caller, Problem, caller::RulesWrite, extract::IdInPath, idempotency_key::IdempotencyKey,
        idempotent_request::Asking,
    },
    planes::ControlPlane,
};

/// A delivery that is on its way again.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryResent)]
pub struct ResendAnswer {
    #[schema(value_type = String, example = "dlv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    delivery_id: DeliveryId,
    /// The number of its next attempt.
    attempt: u32,
    /// Where it goes: the rule's current URL.
    url: String,
}

/// Sends a delivery again.
///
/// It keeps its id, so a receiver that already has it recognizes it, and it gets a fresh schedule. It goes to the
/// rule's current URL. A delivery that is already on its way is refused (409), as is one whose event is no longer kept
/// (410).
#[utoipa::path(
    post, path = "/v1/deliveries/{id}/resend", tag = "deliveries",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The delivery's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "A unique key for this request: sending it again with the same key within 24 hours resends nothing"),
    ),
    responses((status = 202, description = "Queued", body = ResendAnswer)),
)]
pub async fn resend(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<DeliveryId>,
    key: IdempotencyKey,
) -> Result<(StatusCode, Json<ResendAnswer>), Problem> {
    let is_fresh = plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(caller.org, id).await?;
    let delivery = delivery.ok_or_else(|| Problem::not_found("delivery"))?;
    let now = plane.clock.now();
    let name = key.name(&caller)?;
    let mut asking = Asking::new(name, &format!("resend {id}"), now);
    asking.look(&plane.journal).await?;
    asking.check_record(is_fresh, now)?;
    let rule = plane.store.rule(caller.org, delivery.rule).await?;
    let rule = rule.ok_or_else(rule_deleted)?.rule;
    let begun = begun_by(&asking, &delivery);
    if begun.is_none() {
        refuse_unless_resendable(&delivery, now)?;
    } else if delivery.was_attempted() || delivery.state != delivery::State::Pending.as_str() {
        let answer = ResendAnswer {
            delivery_id: id,
            attempt: delivery.attempts + u32::from(!delivery.was_attempted()),
            url: rule.definition.url,
        };
        return Ok((StatusCode::ACCEPTED, Json(answer)));
    }
    let event = plane.event(caller.org, delivery.event).await?;
    let json = event.ok_or_else(event_gone)?.json;
    asking.mark(&plane.journal).await?;
    // The same round, or one that makes it void: queued again after a while it would not be recognized.
    let at = begun.unwrap_or_else(|| asking.at());
    let at = if is_recognized(at, now) { at } else { now };
    let mut job = round::job(delivery, &rule, json, Trigger::Resend, at);
    // The workers first: whatever is still in the queue of it is not sent beside the new round.
    job.since = plane.journal.want_again(id, job.since).await?;
    let outcomes = plane.outcomes.of(caller.org);
    outcomes
        .append(Frames::from_iter([round::begins(&job)]))
        .await?;
    plane.journal.deliver_all(slice::from_ref(&job)).await?;
    let answer = ResendAnswer {
        delivery_id: id,
        attempt: job.attempt,
        url: job.matched.url,
    };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// When the round began that the request asked for when it came before; `None` if it is not on record.
fn begun_by(asking: &Asking, delivery: &Delivery) -> Option<Timestamp> {
    let round = delivery.round.filter(|_| asking.came_before())?;
    (round.at >= asking.at()).then_some(round.at)
}

fn refuse_unless_resendable(delivery: &Delivery, now: Timestamp) -> Result<(), Problem> {
    let goes_on = [Reason::Breaker, Reason::RetryAfter, Reason::Unverified].map(Reason::as_str);
    let is_in_queue = delivery
        .reason
        .as_deref()
        .is_some_and(|reason| goes_on.contains(&reason));
    let due_at = delivery.next_at.unwrap_or(delivery.matched_at);
    let detail = match delivery.state.as_str() {
        "delivered" | "failed" | "canceled" => return Ok(()),
        "held" if !is_in_queue => return Ok(()),
        "held" => {
            "It is held until deliveries to its endpoint can continue, and then continues on its \
             own."
                .to_owned()
        }
        "pending" | "scheduled" if now.since(due_at) > LOST_AFTER => return Ok(()),
        "pending" => "It is already on its way: the next attempt is about to be made.".to_owned(),
        "scheduled" => {
            format!(
                "It is already on its way: the next attempt is due at {due_at}. Cancel it first to send it now."
            )
        }
        state => format!(
            "It was never sent: its rule's settings made it `{state}`. To send its event, use POST \
             /v1/alert-rules/{}/trigger with `event_id`.",
            delivery.rule
        ),
    };
    Err(Problem::new(ErrorCode::StateConflict, detail))
}

fn rule_deleted() -> Problem {
    let detail = "The rule of this delivery was deleted, so there is nowhere to send it.";
    Problem::new(ErrorCode::StateConflict, detail)
}

fn event_gone() -> Problem {
    let detail = "The event of this delivery is no longer in the database (or never was, if this is a test): it is \
                  older than the retention period. There is nothing to send.";
    Problem::new(ErrorCode::Gone, detail)
}
