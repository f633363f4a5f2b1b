//! Recoveries as nodes work on them: one at a time has a job, by a lease, and goes through it in pages.
//!
//! A page is written down before anything is done about it. Its deliveries become pending when they are on
//! record, so after a crash nothing else would tell which of them were still to be queued.

use std::time::Duration;

use domain::{DeliveryId, OrgId, RecoveryId, RuleId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    deliveries::recover::Recoverable,
    jobs::{Held, Job},
    times::{from_database, to_database},
};

/// A job that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRecovery {
    pub org: OrgId,
    pub id: RecoveryId,
    pub lease: Uuid,
    pub wanted: Recoverable,
    /// Everything up to here was seen to.
    pub after: DeliveryId,
    /// A page that somebody began and may not have finished, and since when its deliveries are due.
    pub page: Option<RecoveryPage>,
    /// How often it was taken since its last finished page, this time included.
    pub tries: u32,
}

/// Deliveries that are sent again together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryPage {
    pub deliveries: Vec<DeliveryId>,
    pub at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    rule_id: Uuid,
    since: OffsetDateTime,
    until: OffsetDateTime,
    states: Vec<String>,
    after: Uuid,
    page: Vec<Uuid>,
    page_at: Option<OffsetDateTime>,
    tries: i32,
}

impl Store {
    /// Takes a job that nobody works on, the one that has waited longest. It counts as tried from now on.
    pub async fn claim_recovery(
        &self,
        lease: Uuid,
        lasts: Duration,
    ) -> Result<Option<ClaimedRecovery>, Error> {
        let row: Option<Row> = sqlx::query_as(
            "UPDATE recoveries SET lease = $1, leased_until = now() + $2 * interval '1 second', tries = tries + 1
             WHERE (org_id, id) = (
                 SELECT org_id, id FROM recoveries WHERE state = 'running' AND leased_until <= now()
                 ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING org_id, id, rule_id, since, until, states, after, page, page_at, tries",
        )
        .bind(lease)
        .bind(lasts.as_secs_f64())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|row| ClaimedRecovery {
            org: OrgId::from_uuid(row.org_id),
            id: RecoveryId::from_uuid(row.id),
            lease,
            wanted: Recoverable {
                rule: RuleId::from_uuid(row.rule_id),
                since: from_database(row.since),
                until: from_database(row.until),
                states: row.states,
            },
            after: DeliveryId::from_uuid(row.after),
            page: row.page_at.map(|at| RecoveryPage {
                deliveries: row.page.into_iter().map(DeliveryId::from_uuid).collect(),
                at: from_database(at),
            }),
            tries: row.tries.unsigned_abs(),
        }))
    }

    /// Finds the next page and writes it down; an empty one if there is none. `None` if the job is not ours any
    /// more.
    pub async fn begin_recovery_page(
        &self,
        job: &ClaimedRecovery,
        limit: u32,
        at: Timestamp,
    ) -> Result<Option<RecoveryPage>, Error> {
        let ids = self
            .next_recoverable(job.org, &job.wanted, job.after, limit)
            .await?;
        let begun = sqlx::query(
            "UPDATE recoveries SET page = $4, page_at = $5
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(&ids)
        .bind(to_database(at))
        .execute(&self.pool)
        .await?;
        let deliveries = ids.into_iter().map(DeliveryId::from_uuid).collect();
        Ok((begun.rows_affected() > 0).then_some(RecoveryPage { deliveries, at }))
    }

    /// Notes that a page is done, and how many of it were not sent again; the job stays ours for longer. `false`
    /// if it is not.
    pub async fn finish_recovery_page(
        &self,
        job: &ClaimedRecovery,
        page: &RecoveryPage,
        skipped: u64,
        lasts: Duration,
    ) -> Result<bool, Error> {
        let last = page.deliveries.last().copied().unwrap_or(job.after);
        let skipped = i64::try_from(skipped).unwrap_or(i64::MAX);
        let done = i64::try_from(page.deliveries.len()).unwrap_or(i64::MAX) - skipped;
        let finished = sqlx::query(
            "UPDATE recoveries SET page = '{}', page_at = NULL, after = $4, done = done + $5, skipped = skipped + $6,
                                   tries = 1, error = NULL, leased_until = now() + $7 * interval '1 second'
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(last.uuid())
        .bind(done)
        .bind(skipped)
        .bind(lasts.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(finished.rows_affected() > 0)
    }
}

impl Job for ClaimedRecovery {
    fn held(&self) -> Held {
        Held {
            table: "recoveries",
            org: self.org,
            id: self.id.uuid(),
            lease: self.lease,
        }
    }
}
