//! Exports as nodes work on them: one at a time has a job, by a lease that it renews.

use std::time::Duration;

use domain::{EventId, ExportId, OrgId, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

use super::ExportFile;
use crate::{
    Error, Store,
    jobs::{Held, Job},
    times::to_database,
};

/// A job that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub org: OrgId,
    pub id: ExportId,
    pub lease: Uuid,
    pub filter: String,
    pub format: String,
    pub compression: String,
    /// Newest and oldest; `None`: it is empty.
    pub range: Option<(EventId, EventId)>,
    pub without: EventId,
    /// What is left is below this; `None`: everything is.
    pub below: Option<EventId>,
    /// How many complete files there are, and the events in them.
    pub files: u32,
    pub events: u64,
    /// How often it was taken since its last complete file, this time included.
    pub tries: u32,
}

/// How far a job is, the file in the making included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub progress: f64,
    pub events: u64,
}

#[derive(FromRow)]
struct Row {
    org_id: Uuid,
    id: Uuid,
    filter: String,
    format: String,
    compression: String,
    newest: Option<Uuid>,
    oldest: Option<Uuid>,
    without: Uuid,
    below: Option<Uuid>,
    tries: i32,
    files: i64,
    file_events: i64,
}

impl Store {
    /// Takes a job that nobody works on: of the organization that has the fewest being worked on, and of
    /// those the one that has waited longest. It counts as tried from now on, because one that takes its
    /// worker down with it tells nobody that it failed.
    pub async fn claim_export(
        &self,
        lease: Uuid,
        lasts: Duration,
    ) -> Result<Option<Claimed>, Error> {
        let row: Option<Row> = sqlx::query_as(
            "WITH claimed AS (
                UPDATE exports SET state = 'running', lease = $1, leased_until = now() + $2 * interval '1 second',
                                   tries = tries + 1
                WHERE (org_id, id) = (
                    SELECT org_id, id FROM exports AS job
                    WHERE state IN ('queued', 'running') AND leased_until <= now()
                    ORDER BY (SELECT count(*) FROM exports AS other
                              WHERE other.org_id = job.org_id AND other.state = 'running'
                                AND other.lease IS NOT NULL AND other.leased_until > now()),
                             leased_until
                    LIMIT 1 FOR UPDATE OF job SKIP LOCKED)
                RETURNING org_id, id, filter, format, compression, newest, oldest, without, below, tries)
             SELECT org_id, id, filter, format, compression, newest, oldest, without, below, tries,
                    (SELECT count(*) FROM export_files AS file
                     WHERE file.org_id = claimed.org_id AND export_id = claimed.id) AS files,
                    (SELECT coalesce(sum(file.events), 0)::bigint FROM export_files AS file
                     WHERE file.org_id = claimed.org_id AND export_id = claimed.id) AS file_events
             FROM claimed",
        )
        .bind(lease)
        .bind(lasts.as_secs_f64())
        .fetch_optional(&self.pool)
        .await?;
        let id = EventId::from_uuid;
        Ok(row.map(|row| Claimed {
            org: OrgId::from_uuid(row.org_id),
            id: ExportId::from_uuid(row.id),
            lease,
            filter: row.filter,
            format: row.format,
            compression: row.compression,
            range: row.newest.map(id).zip(row.oldest.map(id)),
            without: id(row.without),
            below: row.below.map(id),
            files: u32::try_from(row.files).unwrap_or(u32::MAX),
            events: row.file_events.unsigned_abs(),
            tries: row.tries.unsigned_abs(),
        }))
    }

    /// Keeps a job for longer and tells how far it is; `false` if it is somebody else's by now, or was
    /// canceled.
    pub async fn renew_export(
        &self,
        job: &Claimed,
        lasts: Duration,
        seen: Seen,
    ) -> Result<bool, Error> {
        let renewed = sqlx::query(
            "UPDATE exports SET leased_until = now() + $4 * interval '1 second', progress = $5, events = $6
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(lasts.as_secs_f64())
        .bind(seen.progress)
        .bind(number(seen.events))
        .execute(&self.pool)
        .await?;
        Ok(renewed.rows_affected() > 0)
    }

    /// Notes that a file is complete, and where the next one begins; `false` if the job is not ours.
    pub async fn complete_export_file(
        &self,
        job: &Claimed,
        file_number: u32,
        file: &ExportFile,
        below: EventId,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let ours = sqlx::query(
            "UPDATE exports SET below = $4, tries = 0, error = NULL
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(below.uuid())
        .execute(&mut *transaction)
        .await?;
        if ours.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query(
            "INSERT INTO export_files (org_id, export_id, number, name, object, events, bytes, sha256)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(i32::try_from(file_number).unwrap_or(i32::MAX))
        .bind(&file.name)
        .bind(&file.object)
        .bind(number(file.events))
        .bind(number(file.bytes))
        .bind(&file.sha256)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Ends a job that is whole; `false` if it is not ours.
    pub async fn finish_export(
        &self,
        job: &Claimed,
        events: u64,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, Error> {
        let finished = sqlx::query(
            "UPDATE exports SET state = 'done', progress = 1, events = $4, lease = NULL, error = NULL,
                                finished_at = $5, expires_at = $6
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(number(events))
        .bind(to_database(now))
        .bind(to_database(expires_at))
        .execute(&self.pool)
        .await?;
        Ok(finished.rows_affected() > 0)
    }

    /// Gives a job up for good.
    pub async fn fail_export(
        &self,
        job: &Claimed,
        error: &str,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query(
            "UPDATE exports SET state = 'failed', lease = NULL, error = $4, finished_at = $5, expires_at = $6
             WHERE org_id = $1 AND id = $2 AND lease = $3 AND state = 'running'",
        )
        .bind(job.org.uuid())
        .bind(job.id.uuid())
        .bind(job.lease)
        .bind(error)
        .bind(to_database(now))
        .bind(to_database(expires_at))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Exports whose files nobody may have any more, of all organizations; a few at a time.
    pub async fn exports_to_sweep(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(OrgId, ExportId)>, Error> {
        let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT org_id, id FROM exports WHERE NOT swept AND expires_at <= $1
             ORDER BY expires_at LIMIT $2",
        )
        .bind(to_database(now))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        let ids = |(org, id)| (OrgId::from_uuid(org), ExportId::from_uuid(id));
        Ok(rows.into_iter().map(ids).collect())
    }

    /// Notes that an export's files are gone.
    pub async fn note_swept(&self, org: OrgId, id: ExportId) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query(
            "UPDATE exports SET swept = true, state = CASE state WHEN 'canceled' THEN state ELSE 'expired' END
             WHERE org_id = $1 AND id = $2",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM export_files WHERE org_id = $1 AND export_id = $2")
            .bind(org.uuid())
            .bind(id.uuid())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}

impl Job for Claimed {
    fn held(&self) -> Held {
        Held {
            table: "exports",
            org: self.org,
            id: self.id.uuid(),
            lease: self.lease,
        }
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
