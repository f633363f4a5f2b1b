//! Conservation: what the matcher decided on, held against the deliveries that are there.
//!
//! Every decision is counted when it is recorded, apart from the row that it makes: a row that is lost, or
//! written twice, shows. One that is recorded again while its row is there is not counted again. Both are by the hour
//! of the delivery's id, so both sides cover the same matches.

use std::{collections::BTreeMap, time::Duration};

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp};
use sqlx::{Connection as _, FromRow, PgConnection};
use uuid::Uuid;

use crate::{
    Error, Store,
    rule_counts::{MatchFate, start_of_hour},
    times::to_database,
};

/// The span of a bucket.
pub const HOUR: Duration = Duration::from_hours(1);
/// How long the look at an hour of all organizations may take: one with tens of millions of deliveries.
const LOOK_PATIENCE: &str = "SET statement_timeout = '60s'";
/// Held by the process that reconciles ("wbrecon" in ASCII).
const RECONCILING: i64 = 0x0077_6272_6563_6f6e;

/// A delivery that was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    pub org: OrgId,
    pub rule: RuleId,
    pub delivery: DeliveryId,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Alert,
    Suppressed,
    Withheld,
    Summary,
}

impl What {
    /// `None`: it is not a delivery.
    pub fn of(fate: MatchFate) -> Option<Self> {
        match fate {
            MatchFate::Counted => None,
            MatchFate::Alert => Some(Self::Alert),
            MatchFate::Suppressed => Some(Self::Suppressed),
            MatchFate::Withheld => Some(Self::Withheld),
        }
    }
}

/// How many of each were decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub alerts: u64,
    pub suppressed: u64,
    pub withheld: u64,
    pub summaries: u64,
}

/// Deliveries that are there, by why they are and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub cause: String,
    pub state: String,
    pub deliveries: u64,
}

/// A rule whose deliveries do not add up in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbalanced {
    pub org: OrgId,
    pub rule: RuleId,
    pub decided: u64,
    pub found: u64,
}

/// The right to reconcile, which one process has at a time; given back when this goes.
#[derive(Debug)]
pub struct Reconciling {
    connection: PgConnection,
}

impl Store {
    /// What was decided on for a rule and what is there, of whole hours, as of one moment.
    pub async fn balance(
        &self,
        org: OrgId,
        rule: RuleId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<(Counts, Vec<Held>), Error> {
        let mut transaction = self
            .pool
            .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        // Sums of bigint are numeric, which we do not read.
        let counts: CountsRow = sqlx::query_as(
            "SELECT coalesce(sum(alerts), 0)::bigint AS alerts, coalesce(sum(suppressed), 0)::bigint AS suppressed,
                    coalesce(sum(withheld), 0)::bigint AS withheld, coalesce(sum(summaries), 0)::bigint AS summaries
             FROM delivery_counts WHERE org_id = $1 AND rule_id = $2 AND bucket >= $3 AND bucket < $4",
        )
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(to_database(from))
        .bind(to_database(to))
        .fetch_one(&mut *transaction)
        .await?;
        let held: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT cause, state, count(*) FROM deliveries
             WHERE org_id = $1 AND rule_id = $2 AND id >= $3 AND id < $4 GROUP BY cause, state",
        )
        .bind(org.uuid())
        .bind(rule.uuid())
        .bind(EventId::first_at(from).uuid())
        .bind(EventId::first_at(to).uuid())
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let held = held.into_iter().map(|(cause, state, deliveries)| Held {
            cause,
            state,
            deliveries: deliveries.unsigned_abs(),
        });
        Ok((Counts::from(counts), held.collect()))
    }

    /// `None` while another process reconciles.
    pub async fn reconciling(&self) -> Result<Option<Reconciling>, Error> {
        let mut connection = self.connect().await?;
        sqlx::query(LOOK_PATIENCE).execute(&mut connection).await?;
        let ours: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(RECONCILING)
            .fetch_one(&mut connection)
            .await?;
        if !ours {
            connection.close().await?;
            return Ok(None);
        }
        Ok(Some(Reconciling { connection }))
    }

    /// Forgets what was counted before then; how many rows that were.
    pub async fn forget_delivery_counts(&self, before: Timestamp) -> Result<u64, Error> {
        self.forget_in_slices(
            "DELETE FROM delivery_counts WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM delivery_counts WHERE bucket < $1 LIMIT $2))",
            before,
        )
        .await
    }
}

impl Reconciling {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// The rules of all organizations whose deliveries of an hour do not add up, at most `limit`. Whoever
    /// counted nothing is not looked at, nor who is being deleted.
    pub async fn unbalanced(
        &mut self,
        hour: Timestamp,
        limit: u32,
    ) -> Result<Vec<Unbalanced>, Error> {
        let hour = start_of_hour(hour);
        let rows: Vec<(Uuid, Uuid, i64, i64)> = sqlx::query_as(
            "SELECT org_id, rule_id, decided, found
             FROM (SELECT org_id, rule_id, alerts + suppressed + withheld + summaries AS decided,
                          (SELECT count(*) FROM deliveries AS delivery
                           WHERE delivery.org_id = counted.org_id AND delivery.rule_id = counted.rule_id
                             AND delivery.id >= $2 AND delivery.id < $3 AND cause <> 'test') AS found
                   FROM delivery_counts AS counted WHERE bucket = $1) AS hour
             WHERE decided <> found
               AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.org_id = hour.org_id) LIMIT $4",
        )
        .bind(to_database(hour))
        .bind(EventId::first_at(hour).uuid())
        .bind(EventId::first_at(hour.plus(HOUR)).uuid())
        .bind(i64::from(limit))
        .fetch_all(&mut self.connection)
        .await?;
        let unbalanced = |(org, rule, decided, found): (Uuid, Uuid, i64, i64)| Unbalanced {
            org: OrgId::from_uuid(org),
            rule: RuleId::from_uuid(rule),
            decided: decided.unsigned_abs(),
            found: found.unsigned_abs(),
        };
        Ok(rows.into_iter().map(unbalanced).collect())
    }
}

#[derive(FromRow)]
struct CountsRow {
    alerts: i64,
    suppressed: i64,
    withheld: i64,
    summaries: i64,
}

impl From<CountsRow> for Counts {
    fn from(row: CountsRow) -> Self {
        Self {
            alerts: row.alerts.unsigned_abs(),
            suppressed: row.suppressed.unsigned_abs(),
            withheld: row.withheld.unsigned_abs(),
            summaries: row.summaries.unsigned_abs(),
        }
    }
}

/// Counts decisions, all of which are new.
pub(super) async fn add(connection: &mut PgConnection, decided: &[Decided]) -> Result<(), Error> {
    if decided.is_empty() {
        return Ok(());
    }
    // In one order, so that two that count at once never wait for each other.
    let mut hours: BTreeMap<(OrgId, RuleId, Timestamp), [i64; 4]> = BTreeMap::new();
    for one in decided {
        let hour = start_of_hour(EventId::from_uuid(one.delivery.uuid()).time());
        let sums = hours.entry((one.org, one.rule, hour)).or_default();
        sums[match one.what {
            What::Alert => 0,
            What::Suppressed => 1,
            What::Withheld => 2,
            What::Summary => 3,
        }] += 1;
    }
    let column = |index: usize| hours.values().map(|sums| sums[index]).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO delivery_counts (org_id, rule_id, bucket, alerts, suppressed, withheld, summaries)
         SELECT org_id, rule_id, bucket, alerts, suppressed, withheld, summaries
         FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bigint[])
              AS row (org_id, rule_id, bucket, alerts, suppressed, withheld, summaries)
         ON CONFLICT (org_id, rule_id, bucket) DO UPDATE
         SET alerts = delivery_counts.alerts + EXCLUDED.alerts,
             suppressed = delivery_counts.suppressed + EXCLUDED.suppressed,
             withheld = delivery_counts.withheld + EXCLUDED.withheld,
             summaries = delivery_counts.summaries + EXCLUDED.summaries",
    )
    .bind(hours.keys().map(|(org, _, _)| org.uuid()).collect::<Vec<_>>())
    .bind(hours.keys().map(|(_, rule, _)| rule.uuid()).collect::<Vec<_>>())
    .bind(hours.keys().map(|(_, _, hour)| to_database(*hour)).collect::<Vec<_>>())
    .bind(column(0))
    .bind(column(1))
    .bind(column(2))
    .bind(column(3))
    .execute(connection)
    .await?;
    Ok(())
}
