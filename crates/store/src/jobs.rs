//! Jobs in the background, which have a table for each kind: a worker has a job by a lease.
//!
//! A lease is by the database's clock, so that nodes whose clocks differ agree. Whatever a worker writes names its lease, so
//! one that lost it, because it hung, writes nothing.

use std::time::Duration;

use domain::{OrgId, Timestamp};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::{Error, Store, times::to_database};

/// A job that a worker took.
pub trait Job {
    /// Which it is.
    fn held(&self) -> Held;
}

/// A job in its table, and the lease that a worker has on it.
pub struct Held {
    pub(crate) table: &'static str,
    pub(crate) org: OrgId,
    pub(crate) id: Uuid,
    pub(crate) lease: Uuid,
}

impl Store {
    /// Keeps a job for longer; `false` if it is somebody else's by now, or ended.
    pub async fn keep_job(&self, job: &impl Job, lasts: Duration) -> Result<bool, Error> {
        let job = job.held();
        let kept = sqlx::query(job.update("leased_until = now() + $4 * interval '1 second'"))
            .bind(job.org.uuid())
            .bind(job.id)
            .bind(job.lease)
            .bind(lasts.as_secs_f64())
            .execute(&self.pool)
            .await?;
        Ok(kept.rows_affected() > 0)
    }

    /// Gives a job back, to be taken again after `pause`; with an error, if it failed. If not, it was not a try.
    pub async fn release_job(
        &self,
        job: &impl Job,
        pause: Duration,
        error: Option<&str>,
    ) -> Result<(), Error> {
        let job = job.held();
        let release = job.update(
            "lease = NULL, leased_until = now() + $4 * interval '1 second', error = $5,
             tries = CASE WHEN $5::text IS NULL THEN greatest(tries - 1, 0) ELSE tries END",
        );
        sqlx::query(release)
            .bind(job.org.uuid())
            .bind(job.id)
            .bind(job.lease)
            .bind(pause.as_secs_f64())
            .bind(error)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Ends a job that goes by pages: `done`, or `failed` with an error.
    pub async fn end_job(
        &self,
        job: &impl Job,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let job = job.held();
        let end = job.update(
            "state = CASE WHEN $4::text IS NULL THEN 'done' ELSE 'failed' END, error = $4,
             lease = NULL, page = '{}', page_at = NULL, finished_at = $5",
        );
        sqlx::query(end)
            .bind(job.org.uuid())
            .bind(job.id)
            .bind(job.lease)
            .bind(error)
            .bind(to_database(now))
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

impl Held {
    /// A statement that changes the job for as long as the lease on it holds: organization, job and lease are its first
    /// three parameters.
    fn update(&self, change: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(format!(
            "UPDATE {} SET {change} WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
            self.table
        ))
    }
}
