//! What version 2 wrote where version 3 writes something else.

use domain::{
    AttemptId, DeliveryId, OrgId, Timestamp,
    delivery::{Outcome, State, Trigger},
};
use serde::Deserialize;

use super::{Alerted, Counted, Ended, Judged, Matched, Timings};

#[derive(Deserialize)]
pub(super) enum OutcomeRecord {
    Matched(Matched),
    Attempted(Box<Attempted>),
    Alerted(Box<Alerted>),
    Counted(Counted),
    Ended(Box<Ended>),
    Judged(Judged),
}

#[derive(Deserialize)]
pub(super) struct Attempted {
    id: AttemptId,
    org: OrgId,
    delivery: DeliveryId,
    number: u32,
    trigger: Trigger,
    due_at: Timestamp,
    started_at: Timestamp,
    finished_at: Timestamp,
    signed_at: Timestamp,
    url: String,
    remote_address: Option<String>,
    body_sha256: String,
    body_bytes: u32,
    status: Option<u16>,
    outcome: Outcome,
    error: Option<String>,
    answer: String,
    state: State,
    next_at: Option<Timestamp>,
}

#[derive(Deserialize)]
pub(super) struct Job {
    pub(super) matched: Matched,
    pub(super) json: String,
    pub(super) attempt: u32,
    pub(super) due_at: Timestamp,
}

impl From<OutcomeRecord> for super::OutcomeRecord {
    fn from(old: OutcomeRecord) -> Self {
        match old {
            OutcomeRecord::Matched(matched) => Self::Matched(matched),
            OutcomeRecord::Attempted(attempted) => Self::from(*attempted),
            OutcomeRecord::Alerted(alerted) => Self::Alerted(alerted),
            OutcomeRecord::Counted(counted) => Self::Counted(counted),
            OutcomeRecord::Ended(ended) => Self::Ended(ended),
            OutcomeRecord::Judged(judged) => Self::Judged(judged),
        }
    }
}

impl From<Attempted> for super::OutcomeRecord {
    fn from(old: Attempted) -> Self {
        Self::Attempted(Box::new(super::Attempted {
            id: old.id,
            org: old.org,
            delivery: old.delivery,
            number: old.number,
            trigger: old.trigger,
            due_at: old.due_at,
            started_at: old.started_at,
            finished_at: old.finished_at,
            timings: Timings::default(),
            signed_at: old.signed_at,
            secrets: Vec::new(),
            url: old.url,
            remote_address: old.remote_address,
            tls: None,
            body_sha256: old.body_sha256,
            body_bytes: old.body_bytes,
            status: old.status,
            outcome: old.outcome,
            error: old.error,
            answer_headers: Vec::new(),
            answer: old.answer,
            clock_skew_s: None,
            retry_after_s: None,
            state: old.state,
            reason: None,
            next_at: old.next_at,
        }))
    }
}

impl From<Job> for super::Job {
    fn from(old: Job) -> Self {
        let first = old.matched.cause.first_trigger();
        Self {
            trigger: if old.attempt == 1 {
                first
            } else {
                Trigger::Retry
            },
            attempt: old.attempt,
            due_at: old.due_at,
            step: old.attempt.saturating_sub(1),
            since: old.matched.matched_at,
            held: None,
            matched: old.matched,
            json: old.json,
        }
    }
}
