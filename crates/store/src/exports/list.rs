//! Exports as customers ask for them and see them.

use std::{collections::HashMap, time::Duration};

use domain::{EventId, ExportId, OrgId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    page::Page,
    times::{from_database, to_database},
};

/// Longer than a request takes, in which an export gets its place and is queued.
const QUEUED_WITHIN: Duration = Duration::from_secs(60);

/// An export to be made.
pub struct NewExport {
    pub org: OrgId,
    pub id: ExportId,
    pub asked_by: String,
    /// In JSON.
    pub filter: String,
    pub format: String,
    pub compression: String,
    /// Newest and oldest; `None`: it will be empty.
    pub range: Option<(EventId, EventId)>,
    pub created_at: Timestamp,
    pub secret: [u8; 32],
}

/// An export as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportRow {
    pub id: ExportId,
    pub asked_by: String,
    pub filter: String,
    pub format: String,
    pub compression: String,
    pub state: String,
    pub progress: f64,
    pub events: u64,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub secret: Vec<u8>,
    pub files: Vec<ExportFile>,
}

/// A complete file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    pub name: String,
    /// What it is called in object storage.
    pub object: String,
    pub events: u64,
    pub bytes: u64,
    pub sha256: String,
}

/// A file that a link names, and what the link must be signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFile {
    pub secret: Vec<u8>,
    pub object: String,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    asked_by: String,
    filter: String,
    format: String,
    compression: String,
    state: String,
    progress: f64,
    events: i64,
    error: Option<String>,
    created_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
    expires_at: Option<OffsetDateTime>,
    secret: Vec<u8>,
}

#[derive(FromRow)]
struct FileRow {
    export_id: Uuid,
    name: String,
    object: String,
    events: i64,
    bytes: i64,
    sha256: String,
}

macro_rules! columns {
    () => {
        "id, asked_by, filter, format, compression, state, progress, events, error, created_at,
         finished_at, expires_at, secret"
    };
}

impl Store {
    /// Makes a place for an export, which nobody works on until it is queued ([`Store::queue_export`]);
    /// `false` if the organization has `unfinished_max` already that are not finished.
    pub async fn insert_export(
        &self,
        export: &NewExport,
        unfinished_max: u32,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        // One at a time for each organization, or two could both find room for one.
        sqlx::query("SELECT id FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
            .bind(export.org.uuid())
            .execute(&mut *transaction)
            .await?;
        // Of those that were never queued, whoever asked for them is gone.
        sqlx::query(
            "DELETE FROM exports WHERE org_id = $1 AND leased_until = 'infinity' AND created_at < $2",
        )
        .bind(export.org.uuid())
        .bind(to_database(export.created_at.minus(QUEUED_WITHIN)))
        .execute(&mut *transaction)
        .await?;
        let unfinished: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM exports WHERE org_id = $1 AND state IN ('queued', 'running')",
        )
        .bind(export.org.uuid())
        .fetch_one(&mut *transaction)
        .await?;
        if unfinished >= i64::from(unfinished_max) {
            return Ok(false);
        }
        sqlx::query(
            "INSERT INTO exports (org_id, id, asked_by, filter, format, compression, state, newest, oldest,
                                  without, progress, events, tries, created_at, leased_until, secret, swept)
             VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7, $8, $2, 0, 0, 0, $9, 'infinity', $10, false)",
        )
        .bind(export.org.uuid())
        .bind(export.id.uuid())
        .bind(&export.asked_by)
        .bind(&export.filter)
        .bind(&export.format)
        .bind(&export.compression)
        .bind(export.range.map(|(newest, _)| newest.uuid()))
        .bind(export.range.map(|(_, oldest)| oldest.uuid()))
        .bind(to_database(export.created_at))
        .bind(export.secret.as_slice())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Hands an export to whoever works on them. It will not have the event `without`, which says that it
    /// was asked for.
    pub async fn queue_export(
        &self,
        org: OrgId,
        id: ExportId,
        without: EventId,
    ) -> Result<(), Error> {
        sqlx::query(
            "UPDATE exports SET without = $3, leased_until = now()
             WHERE org_id = $1 AND id = $2 AND leased_until = 'infinity'",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .bind(without.uuid())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Gives the place of an export back that was not queued.
    pub async fn forget_export(&self, org: OrgId, id: ExportId) -> Result<(), Error> {
        sqlx::query(
            "DELETE FROM exports WHERE org_id = $1 AND id = $2 AND leased_until = 'infinity'",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn export(&self, org: OrgId, id: ExportId) -> Result<Option<ExportRow>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM exports WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        let rows = self.with_files(org, row.into_iter().collect()).await?;
        Ok(rows.into_iter().next())
    }

    /// An organization's exports, newest first, from below `before` on.
    pub async fn list_exports(
        &self,
        org: OrgId,
        before: Option<ExportId>,
        limit: u32,
    ) -> Result<Page<ExportRow, ExportId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM exports WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), ExportId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rows = self.with_files(org, rows).await?;
        Ok(Page::from_rows(rows, limit, |export| export.id))
    }

    /// Ends an export and forgets its files, which [`Store::exports_to_sweep`] then has; `false` if it
    /// is not there.
    pub async fn cancel_export(
        &self,
        org: OrgId,
        id: ExportId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        let canceled = sqlx::query(
            "UPDATE exports SET state = 'canceled', lease = NULL, expires_at = $3,
                                finished_at = coalesce(finished_at, $3)
             WHERE org_id = $1 AND id = $2",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .bind(to_database(now))
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM export_files WHERE org_id = $1 AND export_id = $2")
            .bind(org.uuid())
            .bind(id.uuid())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(canceled.rows_affected() > 0)
    }

    /// The file that a link names, of whichever organization: the signature says whether it is given.
    pub async fn linked_file(
        &self,
        id: ExportId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<LinkedFile>, Error> {
        let found: Option<(Vec<u8>, String)> = sqlx::query_as(
            "SELECT secret, object FROM exports
             JOIN export_files USING (org_id)
             WHERE exports.id = $1 AND export_id = exports.id AND name = $2
                   AND (expires_at IS NULL OR expires_at > $3)",
        )
        .bind(id.uuid())
        .bind(name)
        .bind(to_database(now))
        .fetch_optional(&self.pool)
        .await?;
        Ok(found.map(|(secret, object)| LinkedFile { secret, object }))
    }

    async fn with_files(&self, org: OrgId, rows: Vec<Row>) -> Result<Vec<ExportRow>, Error> {
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let files: Vec<FileRow> = sqlx::query_as(
            "SELECT export_id, name, object, events, bytes, sha256 FROM export_files
             WHERE org_id = $1 AND export_id = ANY($2) ORDER BY export_id, number",
        )
        .bind(org.uuid())
        .bind(ids)
        .fetch_all(&self.pool)
        .await?;
        let mut by_export = HashMap::<Uuid, Vec<ExportFile>>::new();
        for file in files {
            let files = by_export.entry(file.export_id).or_default();
            files.push(ExportFile {
                name: file.name,
                object: file.object,
                events: file.events.unsigned_abs(),
                bytes: file.bytes.unsigned_abs(),
                sha256: file.sha256,
            });
        }
        let export = |row: Row| ExportRow {
            files: by_export.remove(&row.id).unwrap_or_default(),
            id: ExportId::from_uuid(row.id),
            asked_by: row.asked_by,
            filter: row.filter,
            format: row.format,
            compression: row.compression,
            state: row.state,
            progress: row.progress,
            events: row.events.unsigned_abs(),
            error: row.error,
            created_at: from_database(row.created_at),
            finished_at: row.finished_at.map(from_database),
            expires_at: row.expires_at.map(from_database),
            secret: row.secret,
        };
        Ok(rows.into_iter().map(export).collect())
    }
}
