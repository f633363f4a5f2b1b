//! Recoveries as customers ask for them and see them.

use domain::{OrgId, RecoveryId, RuleId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    deliveries::recover::Recoverable,
    page::Page,
    times::{from_database, to_database},
};

/// A recovery to be made.
pub struct NewRecovery {
    pub org: OrgId,
    pub id: RecoveryId,
    pub asked_by: String,
    pub wanted: Recoverable,
    /// How many deliveries there were when it was asked for; `None` if they were too many to be counted.
    pub total: Option<u64>,
    pub created_at: Timestamp,
}

/// A recovery as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryRow {
    pub id: RecoveryId,
    pub asked_by: String,
    pub wanted: Recoverable,
    pub state: String,
    pub total: Option<u64>,
    pub done: u64,
    pub skipped: u64,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    rule_id: Uuid,
    asked_by: String,
    since: OffsetDateTime,
    until: OffsetDateTime,
    states: Vec<String>,
    state: String,
    total: Option<i64>,
    done: i64,
    skipped: i64,
    error: Option<String>,
    created_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
}

macro_rules! columns {
    () => {
        "id, rule_id, asked_by, since, until, states, state, total, done, skipped, error, created_at, finished_at"
    };
}

impl Store {
    /// Makes a recovery, unless it was made before; `false` if the organization has `running_max` already.
    pub async fn insert_recovery(
        &self,
        recovery: &NewRecovery,
        running_max: u32,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        // One at a time for each organization, or two could both find room for one.
        sqlx::query("SELECT id FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
            .bind(recovery.org.uuid())
            .execute(&mut *transaction)
            .await?;
        let (was_made, running): (bool, i64) = sqlx::query_as(
            "SELECT EXISTS (SELECT FROM recoveries WHERE org_id = $1 AND id = $2),
                    (SELECT count(*) FROM recoveries WHERE org_id = $1 AND state = 'running')",
        )
        .bind(recovery.org.uuid())
        .bind(recovery.id.uuid())
        .fetch_one(&mut *transaction)
        .await?;
        if was_made {
            return Ok(true);
        }
        if running >= i64::from(running_max) {
            return Ok(false);
        }
        sqlx::query(
            "INSERT INTO recoveries (org_id, id, rule_id, asked_by, since, until, states, state, total, done, skipped,
                                     after, page, tries, created_at, leased_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', $8, 0, 0, $9, '{}', 0, $10, now())
             ON CONFLICT DO NOTHING",
        )
        .bind(recovery.org.uuid())
        .bind(recovery.id.uuid())
        .bind(recovery.wanted.rule.uuid())
        .bind(&recovery.asked_by)
        .bind(to_database(recovery.wanted.since))
        .bind(to_database(recovery.wanted.until))
        .bind(&recovery.wanted.states)
        .bind(recovery.total.map(|total| i64::try_from(total).unwrap_or(i64::MAX)))
        .bind(Uuid::nil())
        .bind(to_database(recovery.created_at))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn recovery(&self, org: OrgId, id: RecoveryId) -> Result<Option<RecoveryRow>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM recoveries WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(RecoveryRow::from))
    }

    /// An organization's recoveries, newest first, from below `before` on.
    pub async fn list_recoveries(
        &self,
        org: OrgId,
        before: Option<RecoveryId>,
        limit: u32,
    ) -> Result<Page<RecoveryRow, RecoveryId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM recoveries WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), RecoveryId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rows = rows.into_iter().map(RecoveryRow::from).collect();
        Ok(Page::from_rows(rows, limit, |recovery: &RecoveryRow| {
            recovery.id
        }))
    }

    /// Ends a recovery that is running. Its worker notices at its next page.
    pub async fn cancel_recovery(
        &self,
        org: OrgId,
        id: RecoveryId,
        now: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query(
            "UPDATE recoveries SET state = 'canceled', finished_at = $3
             WHERE org_id = $1 AND id = $2 AND state = 'running'",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .bind(to_database(now))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Forgets recoveries that ended and were asked for before then.
    pub async fn forget_recoveries(&self, before: Timestamp) -> Result<(), Error> {
        self.forget_in_slices(
            "DELETE FROM recoveries WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM recoveries WHERE created_at < $1 AND state <> 'running' LIMIT $2))",
            before,
        )
        .await?;
        Ok(())
    }
}

impl From<Row> for RecoveryRow {
    fn from(row: Row) -> Self {
        Self {
            id: RecoveryId::from_uuid(row.id),
            asked_by: row.asked_by,
            wanted: Recoverable {
                rule: RuleId::from_uuid(row.rule_id),
                since: from_database(row.since),
                until: from_database(row.until),
                states: row.states,
            },
            state: row.state,
            total: row.total.map(i64::unsigned_abs),
            done: row.done.unsigned_abs(),
            skipped: row.skipped.unsigned_abs(),
            error: row.error,
            created_at: from_database(row.created_at),
            finished_at: row.finished_at.map(from_database),
        }
    }
}
