//! Reads one delivery and its attempts.

use domain::{AttemptId, DeliveryId, EventId, OrgId, RuleId};
use sqlx::{FromRow, types::time::OffsetDateTime};
use trail_proof::leaf::Salt;
use uuid::Uuid;

use super::{Attempt, Delivery, Phases, Round, from_int};
use crate::{Error, Store, times::from_database};

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! delivery_columns {
    () => {
        "org_id, id, event_id, rule_id, rule_name, event_type, url, state, reason, attempts, matched_at, \
         next_at, cause, suppressed, round_at, round_from"
    };
}
pub(super) use delivery_columns;

macro_rules! attempt_columns {
    () => {
        "org_id, delivery_id, id, number, trigger, due_at, started_at, finished_at, signed_at, url, remote_address, \
         body_sha256, body_bytes, status, outcome, error, answer, resolved_us, connected_us, secured_us, sent_us, \
         answered_us, tls, secrets, answer_headers, clock_skew_s, retry_after_s, state, reason, next_at, salt"
    };
}

/// The attempts that are read of one delivery: more than a schedule has, and with answers of 8 KiB each still less
/// than a megabyte. A delivery that is resent for ever shows its last ones.
const ATTEMPTS_MAX: i64 = 100;

impl Store {
    pub async fn delivery(&self, org: OrgId, id: DeliveryId) -> Result<Option<Delivery>, Error> {
        let row: Option<DeliveryDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM deliveries WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(Delivery::from))
    }

    /// The newest attempts of a delivery, at most [`ATTEMPTS_MAX`], oldest first.
    pub async fn attempts(&self, org: OrgId, delivery: DeliveryId) -> Result<Vec<Attempt>, Error> {
        let rows: Vec<AttemptDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            attempt_columns!(),
            " FROM delivery_attempts WHERE org_id = $1 AND delivery_id = $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(org.uuid())
        .bind(delivery.uuid())
        .bind(ATTEMPTS_MAX)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().rev().map(Attempt::try_from).collect()
    }

    /// One attempt of a delivery.
    pub async fn attempt(
        &self,
        org: OrgId,
        delivery: DeliveryId,
        id: AttemptId,
    ) -> Result<Option<Attempt>, Error> {
        let row: Option<AttemptDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            attempt_columns!(),
            " FROM delivery_attempts WHERE org_id = $1 AND delivery_id = $2 AND id = $3"
        ))
        .bind(org.uuid())
        .bind(delivery.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        row.map(Attempt::try_from).transpose()
    }

    /// Those attempts that are there, of whichever deliveries.
    pub(crate) async fn attempts_with_ids(
        &self,
        org: OrgId,
        ids: &[AttemptId],
    ) -> Result<Vec<Attempt>, Error> {
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
            return Ok(Vec::new());
        };
        // The ends are what the index serves.
        let rows: Vec<AttemptDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            attempt_columns!(),
            " FROM delivery_attempts WHERE org_id = $1 AND id >= $2 AND id <= $3 AND id = ANY ($4)"
        ))
        .bind(org.uuid())
        .bind(first.uuid())
        .bind(last.uuid())
        .bind(ids.iter().map(|id| id.uuid()).collect::<Vec<_>>())
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(Attempt::try_from).collect()
    }
}

#[derive(FromRow)]
pub(super) struct DeliveryDbRow {
    org_id: Uuid,
    id: Uuid,
    event_id: Uuid,
    rule_id: Uuid,
    rule_name: String,
    event_type: String,
    url: String,
    state: String,
    reason: Option<String>,
    attempts: i32,
    matched_at: OffsetDateTime,
    next_at: Option<OffsetDateTime>,
    cause: String,
    suppressed: i32,
    round_at: Option<OffsetDateTime>,
    round_from: i32,
}

impl From<DeliveryDbRow> for Delivery {
    fn from(row: DeliveryDbRow) -> Self {
        let from = from_int(row.round_from);
        Self {
            org: OrgId::from_uuid(row.org_id),
            id: DeliveryId::from_uuid(row.id),
            event: EventId::from_uuid(row.event_id),
            rule: RuleId::from_uuid(row.rule_id),
            rule_name: row.rule_name,
            event_type: row.event_type,
            url: row.url,
            state: row.state,
            reason: row.reason,
            attempts: from_int(row.attempts),
            matched_at: from_database(row.matched_at),
            next_at: row.next_at.map(from_database),
            cause: row.cause,
            suppressed: from_int(row.suppressed),
            round: row.round_at.map(from_database).map(|at| Round { at, from }),
        }
    }
}

#[derive(FromRow)]
struct AttemptDbRow {
    org_id: Uuid,
    delivery_id: Uuid,
    id: Uuid,
    number: i32,
    trigger: String,
    due_at: OffsetDateTime,
    started_at: OffsetDateTime,
    finished_at: OffsetDateTime,
    signed_at: OffsetDateTime,
    url: String,
    remote_address: Option<String>,
    body_sha256: String,
    body_bytes: i32,
    status: Option<i32>,
    outcome: String,
    error: Option<String>,
    answer: String,
    resolved_us: Option<i32>,
    connected_us: Option<i32>,
    secured_us: Option<i32>,
    sent_us: Option<i32>,
    answered_us: Option<i32>,
    tls: Option<String>,
    secrets: String,
    answer_headers: String,
    clock_skew_s: Option<i32>,
    retry_after_s: Option<i32>,
    state: Option<String>,
    reason: Option<String>,
    next_at: Option<OffsetDateTime>,
    salt: Option<Vec<u8>>,
}

impl TryFrom<AttemptDbRow> for Attempt {
    type Error = Error;

    fn try_from(row: AttemptDbRow) -> Result<Self, Error> {
        Ok(Self {
            org: OrgId::from_uuid(row.org_id),
            delivery: DeliveryId::from_uuid(row.delivery_id),
            id: AttemptId::from_uuid(row.id),
            salt: row.salt.and_then(|salt| salt.try_into().ok()).map(Salt),
            number: from_int(row.number),
            trigger: row.trigger,
            due_at: from_database(row.due_at),
            started_at: from_database(row.started_at),
            finished_at: from_database(row.finished_at),
            phases: Phases {
                resolved_us: row.resolved_us.map(from_int),
                connected_us: row.connected_us.map(from_int),
                secured_us: row.secured_us.map(from_int),
                sent_us: row.sent_us.map(from_int),
                answered_us: row.answered_us.map(from_int),
            },
            signed_at: from_database(row.signed_at),
            secrets: serde_json::from_str(&row.secrets)
                .map_err(|error| unreadable("the secrets of an attempt", &error))?,
            url: row.url,
            remote_address: row.remote_address,
            tls: row.tls,
            body_sha256: row.body_sha256,
            body_bytes: from_int(row.body_bytes),
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            outcome: row.outcome,
            error: row.error,
            answer_headers: serde_json::from_str(&row.answer_headers)
                .map_err(|error| unreadable("the headers of an answer", &error))?,
            answer: row.answer,
            clock_skew_s: row.clock_skew_s,
            retry_after_s: row.retry_after_s.map(from_int),
            state: row.state,
            reason: row.reason,
            next_at: row.next_at.map(from_database),
        })
    }
}

fn unreadable(what: &'static str, error: &serde_json::Error) -> Error {
    Error::Inconsistent {
        what,
        problem: error.to_string(),
    }
}
