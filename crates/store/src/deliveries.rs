//! Deliveries and their attempts: written by the recorder, read by people.

use std::collections::{BTreeSet, HashMap};

use domain::{AttemptId, Day, DeliveryId, EventId, OrgId, RuleId, Timestamp};
use sqlx::{Connection, FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    page::Page,
    partitions::{self, Table},
    rule_counts::{self, RuleMatch},
    times::{from_database, to_database},
    watermark::{Applied, Source, Span},
    writer::{Purpose, Writer},
};

/// One delivery as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub org: OrgId,
    pub id: DeliveryId,
    pub event: EventId,
    pub rule: RuleId,
    pub rule_name: String,
    pub event_type: String,
    pub url: String,
    pub state: String,
    pub attempts: u32,
    pub matched_at: Timestamp,
    pub next_at: Option<Timestamp>,
    pub cause: String,
    /// How many alerts that were kept back it stands for.
    pub suppressed: u32,
}

/// One attempt on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub id: AttemptId,
    pub number: u32,
    pub trigger: String,
    pub due_at: Timestamp,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    pub signed_at: Timestamp,
    /// The secrets it was signed with: `deployment`, or ids.
    pub secrets: Vec<String>,
    pub url: String,
    pub remote_address: Option<String>,
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub outcome: String,
    pub error: Option<String>,
    pub answer: String,
}

/// Where a delivery stands after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub attempts: u32,
    pub state: String,
    pub next_at: Option<Timestamp>,
}

/// Named, because `*` stops working under a running process when a column is added.
macro_rules! delivery_columns {
    () => {
        "org_id, id, event_id, rule_id, rule_name, event_type, url, state, attempts, matched_at, next_at, \
         cause, suppressed"
    };
}

/// What a span of the outcome log says, in its order.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub matched: Vec<Delivery>,
    pub attempts: Vec<Attempt>,
    pub standings: Vec<Standing>,
    pub matches: Vec<RuleMatch>,
}

/// Writes outcomes through a connection of its own.
#[derive(Debug)]
pub struct DeliveryLog {
    pub writer: Writer,
    delivery_days: BTreeSet<Day>,
    attempt_days: BTreeSet<Day>,
}

impl Store {
    pub async fn delivery_log(&self) -> Result<DeliveryLog, Error> {
        Ok(DeliveryLog {
            writer: self.writer().await?,
            delivery_days: BTreeSet::new(),
            attempt_days: BTreeSet::new(),
        })
    }

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

    /// An organisation's deliveries, newest event first, from below `before` on.
    pub async fn list_deliveries(
        &self,
        org: OrgId,
        before: Option<DeliveryId>,
        limit: u32,
    ) -> Result<Page<Delivery, DeliveryId>, Error> {
        let rows: Vec<DeliveryDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM deliveries WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), DeliveryId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let deliveries = rows.into_iter().map(Delivery::from).collect();
        Ok(Page::from_rows(deliveries, limit, |delivery: &Delivery| {
            delivery.id
        }))
    }

    /// The attempts of a delivery, oldest first.
    pub async fn attempts(&self, org: OrgId, delivery: DeliveryId) -> Result<Vec<Attempt>, Error> {
        /// More attempts than a schedule has; a delivery resent for ever still answers.
        const ATTEMPTS_MAX: i64 = 1_000;
        let rows: Vec<AttemptDbRow> = sqlx::query_as(
            "SELECT org_id, delivery_id, id, number, trigger, due_at, started_at, finished_at, signed_at,
                    url, remote_address, body_sha256, body_bytes, status, outcome, error, answer, secrets
             FROM delivery_attempts WHERE org_id = $1 AND delivery_id = $2 ORDER BY id LIMIT $3",
        )
        .bind(org.uuid())
        .bind(delivery.uuid())
        .bind(ATTEMPTS_MAX)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Attempt::from).collect())
    }
}

impl DeliveryLog {
    /// Applies a span of an outcome log: rows and position together, or neither.
    pub async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        outcomes: &Outcomes,
    ) -> Result<Applied, Error> {
        self.run(Purpose::Apply(source, span), outcomes).await
    }

    /// Writes outcomes as if the log had them now.
    pub async fn write(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.run(Purpose::Write, outcomes).await.map(|_| ())
    }

    /// Whether these outcomes would be written. None is.
    pub async fn rehearse(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        self.run(Purpose::Rehearse, outcomes).await.map(|_| ())
    }

    async fn run(&mut self, purpose: Purpose<'_>, outcomes: &Outcomes) -> Result<Applied, Error> {
        match self.run_once(purpose, outcomes).await {
            // PostgreSQL says the same of a row whose day was dropped since we saw it.
            Err(error) if error.refuses_data() && self.forget_days() => {
                self.run_once(purpose, outcomes).await
            }
            outcome => outcome,
        }
    }

    /// Whether there were any to forget.
    fn forget_days(&mut self) -> bool {
        let knew = !self.delivery_days.is_empty() || !self.attempt_days.is_empty();
        self.delivery_days.clear();
        self.attempt_days.clear();
        knew
    }

    async fn run_once(
        &mut self,
        purpose: Purpose<'_>,
        outcomes: &Outcomes,
    ) -> Result<Applied, Error> {
        let mut transaction = self.writer.connection.begin().await?;
        if let Applied::MovedTo(position) = purpose.claim(&mut transaction).await? {
            return Ok(Applied::MovedTo(position));
        }
        let matched = outcomes.matched.iter().map(|delivery| delivery.id.uuid());
        let delivery_days = partitions::ensure(
            &mut transaction,
            Table::Deliveries,
            matched,
            &self.delivery_days,
        )
        .await?;
        let attempted = outcomes
            .attempts
            .iter()
            .map(|attempt| attempt.delivery.uuid());
        let attempt_days = partitions::ensure(
            &mut transaction,
            Table::DeliveryAttempts,
            attempted,
            &self.attempt_days,
        )
        .await?;
        insert_deliveries(&mut transaction, &outcomes.matched).await?;
        insert_attempts(&mut transaction, &outcomes.attempts).await?;
        update_standings(&mut transaction, &outcomes.standings).await?;
        rule_counts::add(&mut transaction, &outcomes.matches).await?;
        purpose.end(transaction).await?;
        // A rehearsal leaves no day behind either.
        if !matches!(purpose, Purpose::Rehearse) {
            self.delivery_days.extend(delivery_days);
            self.attempt_days.extend(attempt_days);
        }
        Ok(Applied::Done)
    }
}

/// Matched again (the matcher crashed before it settled) is not matched anew.
async fn insert_deliveries(
    transaction: &mut Transaction<'_, Postgres>,
    deliveries: &[Delivery],
) -> Result<(), Error> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&Delivery) -> Uuid| deliveries.iter().map(value).collect::<Vec<_>>();
    let texts =
        |value: fn(&Delivery) -> &String| deliveries.iter().map(value).cloned().collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO deliveries (org_id, id, event_id, rule_id, rule_name, event_type, url, state,
                                 attempts, matched_at, cause, suppressed)
         SELECT org_id, id, event_id, rule_id, rule_name, event_type, url, state, 0, matched_at, cause,
                suppressed
         FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::timestamptz[], $10::text[], $11::int[])
              AS row (org_id, id, event_id, rule_id, rule_name, event_type, url, state, matched_at, cause,
                      suppressed)
         ON CONFLICT DO NOTHING",
    )
    .bind(column(|delivery| delivery.org.uuid()))
    .bind(column(|delivery| delivery.id.uuid()))
    .bind(column(|delivery| delivery.event.uuid()))
    .bind(column(|delivery| delivery.rule.uuid()))
    .bind(texts(|delivery| &delivery.rule_name))
    .bind(texts(|delivery| &delivery.event_type))
    .bind(texts(|delivery| &delivery.url))
    .bind(texts(|delivery| &delivery.state))
    .bind(deliveries.iter().map(|delivery| to_database(delivery.matched_at)).collect::<Vec<_>>())
    .bind(texts(|delivery| &delivery.cause))
    .bind(deliveries.iter().map(|delivery| i32::try_from(delivery.suppressed).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

async fn insert_attempts(
    transaction: &mut Transaction<'_, Postgres>,
    attempts: &[Attempt],
) -> Result<(), Error> {
    if attempts.is_empty() {
        return Ok(());
    }
    let uuids = |value: fn(&Attempt) -> Uuid| attempts.iter().map(value).collect::<Vec<_>>();
    let texts =
        |value: fn(&Attempt) -> &String| attempts.iter().map(value).cloned().collect::<Vec<_>>();
    let maybe = |value: fn(&Attempt) -> &Option<String>| {
        attempts.iter().map(value).cloned().collect::<Vec<_>>()
    };
    let secrets = attempts
        .iter()
        .map(|attempt| serde_json::to_string(&attempt.secrets).expect("texts always encode"));
    let numbers = |value: fn(&Attempt) -> u32| {
        attempts
            .iter()
            .map(|attempt| i32::try_from(value(attempt)).unwrap_or(i32::MAX))
            .collect::<Vec<_>>()
    };
    let times = |value: fn(&Attempt) -> Timestamp| {
        attempts
            .iter()
            .map(|attempt| to_database(value(attempt)))
            .collect::<Vec<_>>()
    };
    sqlx::query(
        "INSERT INTO delivery_attempts (org_id, delivery_id, id, number, trigger, due_at, started_at,
             finished_at, signed_at, url, remote_address, body_sha256, body_bytes, status, outcome,
             error, answer, secrets)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::text[],
             $6::timestamptz[], $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[],
             $11::text[], $12::text[], $13::int[], $14::int[], $15::text[], $16::text[], $17::text[], $18::text[])
         ON CONFLICT DO NOTHING",
    )
    .bind(uuids(|attempt| attempt.org.uuid()))
    .bind(uuids(|attempt| attempt.delivery.uuid()))
    .bind(uuids(|attempt| attempt.id.uuid()))
    .bind(numbers(|attempt| attempt.number))
    .bind(texts(|attempt| &attempt.trigger))
    .bind(times(|attempt| attempt.due_at))
    .bind(times(|attempt| attempt.started_at))
    .bind(times(|attempt| attempt.finished_at))
    .bind(times(|attempt| attempt.signed_at))
    .bind(texts(|attempt| &attempt.url))
    .bind(maybe(|attempt| &attempt.remote_address))
    .bind(texts(|attempt| &attempt.body_sha256))
    .bind(numbers(|attempt| attempt.body_bytes))
    .bind(attempts.iter().map(|attempt| attempt.status.map(i32::from)).collect::<Vec<_>>())
    .bind(texts(|attempt| &attempt.outcome))
    .bind(maybe(|attempt| &attempt.error))
    .bind(texts(|attempt| &attempt.answer))
    .bind(secrets.collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// The last word of the log wins, except that what was delivered stays delivered: a send repeated
/// after a crash may fail, but the receiver has the first.
async fn update_standings(
    transaction: &mut Transaction<'_, Postgres>,
    standings: &[Standing],
) -> Result<(), Error> {
    let mut last: HashMap<DeliveryId, &Standing> = HashMap::new();
    for standing in standings {
        let held = last.entry(standing.delivery).or_insert(standing);
        if held.state != "delivered" {
            *held = standing;
        }
    }
    for standing in last.values() {
        sqlx::query(
            "UPDATE deliveries SET state = $3, attempts = GREATEST(attempts, $4), next_at = $5
             WHERE org_id = $1 AND id = $2 AND state <> 'delivered'",
        )
        .bind(standing.org.uuid())
        .bind(standing.delivery.uuid())
        .bind(&standing.state)
        .bind(i32::try_from(standing.attempts).unwrap_or(i32::MAX))
        .bind(standing.next_at.map(to_database))
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

#[derive(FromRow)]
struct DeliveryDbRow {
    org_id: Uuid,
    id: Uuid,
    event_id: Uuid,
    rule_id: Uuid,
    rule_name: String,
    event_type: String,
    url: String,
    state: String,
    attempts: i32,
    matched_at: OffsetDateTime,
    next_at: Option<OffsetDateTime>,
    cause: String,
    suppressed: i32,
}

impl From<DeliveryDbRow> for Delivery {
    fn from(row: DeliveryDbRow) -> Self {
        Self {
            org: OrgId::from_uuid(row.org_id),
            id: DeliveryId::from_uuid(row.id),
            event: EventId::from_uuid(row.event_id),
            rule: RuleId::from_uuid(row.rule_id),
            rule_name: row.rule_name,
            event_type: row.event_type,
            url: row.url,
            state: row.state,
            attempts: u32::try_from(row.attempts).unwrap_or(0),
            matched_at: from_database(row.matched_at),
            next_at: row.next_at.map(from_database),
            cause: row.cause,
            suppressed: u32::try_from(row.suppressed).unwrap_or(0),
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
    secrets: String,
}

impl From<AttemptDbRow> for Attempt {
    fn from(row: AttemptDbRow) -> Self {
        Self {
            org: OrgId::from_uuid(row.org_id),
            delivery: DeliveryId::from_uuid(row.delivery_id),
            id: AttemptId::from_uuid(row.id),
            number: u32::try_from(row.number).unwrap_or(0),
            trigger: row.trigger,
            due_at: from_database(row.due_at),
            started_at: from_database(row.started_at),
            finished_at: from_database(row.finished_at),
            signed_at: from_database(row.signed_at),
            secrets: serde_json::from_str(&row.secrets).unwrap_or_default(),
            url: row.url,
            remote_address: row.remote_address,
            body_sha256: row.body_sha256,
            body_bytes: u32::try_from(row.body_bytes).unwrap_or(0),
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            outcome: row.outcome,
            error: row.error,
            answer: row.answer,
        }
    }
}
