//! Sends a delivery of the past once more: the same delivery, a new round of attempts.
//!
//! On record before it is queued, so that no attempt is recorded before its round has begun. A crash in between
//! leaves a delivery that is pending and not queued; whoever asked asks again and it is queued then.

use domain::{
    Timestamp,
    delivery::{Cause, State, Trigger},
    rule::Rule,
};
use journal::record::{Job, Matched, OutcomeRecord, StateChanged};
use store::deliveries::Delivery;

/// The job of another round of a delivery, due at `at`: to where its rule sends now, the event as it is stored.
pub(super) fn job(
    delivery: Delivery,
    rule: &Rule,
    json: String,
    trigger: Trigger,
    at: Timestamp,
) -> Job {
    let cause = match delivery.cause.as_str() {
        "test" => Cause::Test,
        "summary" => Cause::Summary {
            suppressed: delivery.suppressed,
        },
        _ => Cause::Match,
    };
    Job {
        matched: Matched {
            org: delivery.org,
            delivery: delivery.id,
            event: delivery.event,
            rule: delivery.rule,
            rule_name: delivery.rule_name,
            event_type: delivery.event_type,
            url: rule.definition.url.clone(),
            matched_at: delivery.matched_at,
            cause,
        },
        json,
        attempt: delivery.attempts + 1,
        trigger,
        due_at: at,
        step: 0,
        since: at,
        held: None,
    }
}

/// The record that a round begins: the recorder tells it from others by its time.
pub(super) fn begins(job: &Job) -> OutcomeRecord {
    OutcomeRecord::StateChanged(StateChanged {
        org: job.matched.org,
        delivery: job.matched.delivery,
        state: State::Pending,
        reason: None,
        next_at: Some(job.due_at),
        round_at: job.due_at,
    })
}
