//! What of the archive an erasure concerns: the days of its events, and the files that are replaced.
//!
//! A file of a day is noted only if nothing of the day was erased while it was written, and the two exclude each other: so a
//! file has none of the events that were erased before it was noted, and an erasure finds those that have one of its own.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Day, ErasureId, EventId, OrgId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Error, Store,
    events::archive::{ArchivedFile, archived_files},
};

/// Shared by all who erase; had alone by who notes a file of the archive ("wberas" in ASCII).
const ERASING: i64 = 0x7762_6572_6173;

/// Had alone by who replaces or deletes files of a day, which is the second key ("days" in ASCII).
const REPLACING: i32 = 0x6461_7973;

pub(super) async fn lock_shared(connection: &mut PgConnection) -> Result<(), Error> {
    sqlx::query("SELECT pg_advisory_xact_lock_shared($1)")
        .bind(ERASING)
        .execute(connection)
        .await?;
    Ok(())
}

/// Nobody erases until the transaction ends.
pub(crate) async fn lock(connection: &mut PgConnection) -> Result<(), Error> {
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(ERASING)
        .execute(connection)
        .await?;
    Ok(())
}

/// How many events of a day were erased, of all organizations.
pub(crate) async fn count_of_day(connection: &mut PgConnection, day: Day) -> Result<u64, Error> {
    let erased: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM erased_events WHERE event_id >= $1 AND event_id < $2",
    )
    .bind(day.first_id().uuid())
    .bind(day.next().first_id().uuid())
    .fetch_one(connection)
    .await?;
    Ok(erased.unsigned_abs())
}

impl Store {
    /// How many events of a day were erased, of all organizations.
    pub async fn erased_count_of_day(&self, day: Day) -> Result<u64, Error> {
        let mut connection = self.pool.acquire().await?;
        count_of_day(&mut connection, day).await
    }

    /// The first of an erasure's events from `from` on, or of those of one that failed: nobody else takes them out of the
    /// archive.
    pub async fn next_erased(
        &self,
        org: OrgId,
        erasure: ErasureId,
        from: EventId,
    ) -> Result<Option<EventId>, Error> {
        let next: Option<Uuid> = sqlx::query_scalar(
            "SELECT next.event_id
             FROM (SELECT $2::uuid AS id UNION ALL SELECT id FROM erasures WHERE org_id = $1 AND state = 'failed') AS erasure,
                  LATERAL (SELECT event_id FROM erased_events
                           WHERE org_id = $1 AND erasure_id = erasure.id AND event_id >= $3 ORDER BY event_id LIMIT 1) AS next
             ORDER BY next.event_id LIMIT 1",
        )
        .bind(org.uuid())
        .bind(erasure.uuid())
        .bind(from.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(next.map(EventId::from_uuid))
    }

    /// The events of a day that were erased, of all organizations.
    pub async fn erased_of_day(
        &self,
        day: Day,
    ) -> Result<BTreeMap<OrgId, BTreeSet<EventId>>, Error> {
        let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(
            "SELECT org_id, event_id FROM erased_events WHERE event_id >= $1 AND event_id < $2",
        )
        .bind(day.first_id().uuid())
        .bind(day.next().first_id().uuid())
        .fetch_all(&self.pool)
        .await?;
        let mut erased: BTreeMap<OrgId, BTreeSet<EventId>> = BTreeMap::new();
        for (org, id) in rows {
            let of_org = erased.entry(OrgId::from_uuid(org)).or_default();
            of_org.insert(EventId::from_uuid(id));
        }
        Ok(erased)
    }

    /// Those of an organization's events of a day that were erased, whichever erasure did it.
    pub async fn all_erased_of_day(
        &self,
        org: OrgId,
        day: Day,
    ) -> Result<BTreeSet<EventId>, Error> {
        let ids: Vec<Uuid> = sqlx::query_scalar(
            "SELECT event_id FROM erased_events WHERE org_id = $1 AND event_id >= $2 AND event_id < $3",
        )
        .bind(org.uuid())
        .bind(day.first_id().uuid())
        .bind(day.next().first_id().uuid())
        .fetch_all(&self.pool)
        .await?;
        Ok(ids.into_iter().map(EventId::from_uuid).collect())
    }

    /// Waits while another has it.
    pub async fn files_of_day(&self, day: Day) -> Result<FilesOfDay, Error> {
        let mut connection = self.connect().await?;
        sqlx::query("SELECT pg_advisory_lock($1, $2)")
            .bind(REPLACING)
            .bind(i32::try_from(day.number()).unwrap_or(i32::MAX))
            .execute(&mut connection)
            .await?;
        Ok(FilesOfDay { day, connection })
    }
}

/// The right to replace and delete files of a day, which one has at a time; given back when this goes. It asks and changes the
/// catalog through the connection that has it, so whoever lost it learns of it there.
#[derive(Debug)]
pub struct FilesOfDay {
    day: Day,
    connection: PgConnection,
}

impl FilesOfDay {
    pub fn day(&self) -> Day {
        self.day
    }

    /// The files that are noted.
    pub async fn noted(&mut self) -> Result<Vec<ArchivedFile>, Error> {
        archived_files(&mut self.connection, self.day, self.day).await
    }

    /// Notes a file in the place of another, or that the other is gone; `false` if that is not noted.
    pub async fn replace(
        &mut self,
        old: &ArchivedFile,
        new: Option<&ArchivedFile>,
    ) -> Result<bool, Error> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let replaced = match new {
            // When the day was archived decides which file's events count, so it stays.
            Some(new) => {
                sqlx::query("UPDATE archived_days SET file = $2, events = $3, bytes = $4, sha256 = $5 WHERE file = $1")
                    .bind(&old.file)
                    .bind(&new.file)
                    .bind(number(new.events))
                    .bind(number(new.bytes))
                    .bind(&new.sha256)
                    .execute(&mut self.connection)
                    .await?
            }
            None => {
                sqlx::query("DELETE FROM archived_days WHERE file = $1")
                    .bind(&old.file)
                    .execute(&mut self.connection)
                    .await?
            }
        };
        Ok(replaced.rows_affected() > 0)
    }
}
