//! What version 1 wrote where later versions write something else.

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp, delivery::Cause};
use serde::Deserialize;

use super::v2::Attempted;

#[derive(Deserialize)]
pub(super) enum OutcomeRecord {
    Matched(Matched),
    Attempted(Box<Attempted>),
}

#[derive(Deserialize)]
pub(super) struct Matched {
    org: OrgId,
    delivery: DeliveryId,
    event: EventId,
    rule: RuleId,
    rule_name: String,
    event_type: String,
    url: String,
    matched_at: Timestamp,
}

#[derive(Deserialize)]
pub(super) struct Job {
    org: OrgId,
    delivery: DeliveryId,
    event: EventId,
    rule: RuleId,
    rule_name: String,
    event_type: String,
    url: String,
    json: String,
    matched_at: Timestamp,
    attempt: u32,
    due_at: Timestamp,
}

impl From<OutcomeRecord> for super::OutcomeRecord {
    fn from(old: OutcomeRecord) -> Self {
        match old {
            OutcomeRecord::Matched(matched) => Self::Matched(matched.into()),
            OutcomeRecord::Attempted(attempted) => Self::from(*attempted),
        }
    }
}

impl From<Matched> for super::Matched {
    fn from(old: Matched) -> Self {
        Self {
            org: old.org,
            delivery: old.delivery,
            event: old.event,
            rule: old.rule,
            rule_name: old.rule_name,
            event_type: old.event_type,
            url: old.url,
            matched_at: old.matched_at,
            cause: Cause::Match,
        }
    }
}

impl From<Job> for super::Job {
    fn from(old: Job) -> Self {
        let matched = super::Matched {
            org: old.org,
            delivery: old.delivery,
            event: old.event,
            rule: old.rule,
            rule_name: old.rule_name,
            event_type: old.event_type,
            url: old.url,
            matched_at: old.matched_at,
            cause: Cause::Match,
        };
        Self::from(super::v2::Job {
            matched,
            json: old.json,
            attempt: old.attempt,
            due_at: old.due_at,
        })
    }
}
