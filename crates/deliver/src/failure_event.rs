//! A delivery that is given up is an event of the trail, so that rules can watch for it.

use std::time::Duration;

use domain::{
    DeliveryId, EventId, RuleId, Timestamp,
    delivery::{
        Cause, State,
        failure_event::{EVENT_TYPE, event_tail},
    },
    event::{Source, accept::Arrival},
};
use journal::{
    appenders::Appenders,
    record::Job,
    system_events::{Unrecorded, record_patiently},
};
use serde::Serialize;

/// Tells the trail what becomes of deliveries. Cheap to clone.
#[derive(Clone)]
pub struct Failures {
    events: Appenders,
    retention: Duration,
}

/// How a delivery stands, and what came last.
#[derive(Clone, Debug)]
pub struct Failure {
    pub state: State,
    pub attempts: u32,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub at: Timestamp,
}

#[derive(Serialize)]
struct FailureEvent {
    event_type: &'static str,
    agent_id: &'static str,
    action: &'static str,
    result: &'static str,
    occurred_at: Timestamp,
    resource: String,
    metadata: FailureMetadata,
}

#[derive(Serialize)]
struct FailureMetadata {
    delivery_id: DeliveryId,
    rule_id: RuleId,
    rule_name: String,
    event_id: EventId,
    attempts: u32,
    status: Option<u16>,
    error: Option<String>,
}

impl Failures {
    pub fn new(events: Appenders, retention: Duration) -> Self {
        Self { events, retention }
    }

    /// Records that no further attempt will be made, if that is so. Recorded again, after a crash, it is
    /// the same event.
    pub async fn tell(&self, job: &Job, failure: Failure) -> Result<(), Unrecorded> {
        let action = match failure.state {
            State::Failed => "deliveries.fail",
            State::Held => "deliveries.hold",
            _ => return Ok(()),
        };
        let matched = &job.matched;
        // A test tells whoever asked for it. And the alert of a failure that fails is not told in turn: a
        // rule that watches for everything would never come to rest.
        if matched.cause == Cause::Test || matched.event_type == EVENT_TYPE {
            return Ok(());
        }
        let event = FailureEvent {
            event_type: EVENT_TYPE,
            agent_id: "watchbell",
            action,
            result: "error",
            occurred_at: job.due_at,
            resource: format!("alert_rule:{}", matched.rule),
            metadata: FailureMetadata {
                delivery_id: matched.delivery,
                rule_id: matched.rule,
                rule_name: matched.rule_name.clone(),
                event_id: matched.event,
                attempts: failure.attempts,
                status: failure.status,
                error: failure.error,
            },
        };
        let arrival = Arrival {
            org: matched.org,
            source: Source::Server,
            received_at: failure.at,
            retention: self.retention,
        };
        let tail = event_tail(matched.delivery, failure.attempts);
        record_patiently(tail, &self.events, &arrival, &event).await?;
        Ok(())
    }
}
