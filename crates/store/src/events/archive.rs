//! Days that left the database, or are about to, for files.

use domain::{Day, EventId, OrgId, Timestamp};
use sqlx::{
    Connection as _, PgConnection,
    types::time::{Date, OffsetDateTime},
};
use uuid::Uuid;

use crate::{Error, Store, erasures::archive as erasures, times::to_database};

/// A file that holds events of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedFile {
    pub day: Day,
    pub file: String,
    pub events: u64,
    pub bytes: u64,
    pub sha256: String,
}

/// What the database holds of a day, of all organizations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayHeld {
    pub events: u64,
    pub oldest: EventId,
    pub newest: EventId,
}

impl Store {
    /// What the database holds of a day; `None` if nothing.
    pub async fn day_held(&self, day: Day) -> Result<Option<DayHeld>, Error> {
        // A whole day takes longer to count than the pool allows.
        let mut connection = self.connect().await?;
        let (events, oldest, newest): (i64, Option<String>, Option<String>) = sqlx::query_as(
            "SELECT count(*), min(id::text), max(id::text) FROM audit_events WHERE id >= $1 AND id < $2",
        )
        .bind(day.first_id().uuid())
        .bind(day.next().first_id().uuid())
        .fetch_one(&mut connection)
        .await?;
        connection.close().await?;
        let id = |text: Option<String>| {
            let uuid = text.and_then(|text| Uuid::parse_str(&text).ok());
            uuid.map(EventId::from_uuid)
        };
        Ok(id(oldest).zip(id(newest)).map(|(oldest, newest)| DayHeld {
            events: events.unsigned_abs(),
            oldest,
            newest,
        }))
    }

    /// The organization after `after` that the database holds events of on this day.
    pub async fn next_org_of_day(
        &self,
        day: Day,
        after: Option<OrgId>,
    ) -> Result<Option<OrgId>, Error> {
        let org: Option<Uuid> = sqlx::query_scalar(
            "SELECT org_id FROM audit_events WHERE id >= $1 AND id < $2 AND org_id > $3
             ORDER BY org_id LIMIT 1",
        )
        .bind(day.first_id().uuid())
        .bind(day.next().first_id().uuid())
        .bind(after.map_or(Uuid::nil(), OrgId::uuid))
        .fetch_optional(&self.pool)
        .await?;
        Ok(org.map(OrgId::from_uuid))
    }

    /// Notes that a file is whole; noting it again changes nothing. `false`, and it is not noted, if something of the day was
    /// erased since there were `erased` such events: the file may have it.
    pub async fn save_archived(
        &self,
        file: &ArchivedFile,
        erased: u64,
        at: Timestamp,
    ) -> Result<bool, Error> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let mut transaction = self.pool.begin().await?;
        erasures::lock(&mut transaction).await?;
        if erasures::count_of_day(&mut transaction, file.day).await? != erased {
            return Ok(false);
        }
        sqlx::query(
            "INSERT INTO archived_days (day, file, events, bytes, sha256, archived_at)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(date(file.day))
        .bind(&file.file)
        .bind(number(file.events))
        .bind(number(file.bytes))
        .bind(&file.sha256)
        .bind(to_database(at))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// The files of these days, both included: the oldest day first, and of a day the one made first.
    pub async fn archived_files(&self, from: Day, to: Day) -> Result<Vec<ArchivedFile>, Error> {
        archived_files(&mut *self.pool.acquire().await?, from, to).await
    }
}

/// The files of these days, in the order of [`Store::archived_files`].
pub(crate) async fn archived_files(
    connection: &mut PgConnection,
    from: Day,
    to: Day,
) -> Result<Vec<ArchivedFile>, Error> {
    let rows: Vec<(Date, String, i64, i64, String)> = sqlx::query_as(
        "SELECT day, file, events, bytes, sha256 FROM archived_days
             WHERE day BETWEEN $1 AND $2 ORDER BY day, archived_at, file",
    )
    .bind(date(from))
    .bind(date(to))
    .fetch_all(connection)
    .await?;
    let file = |(day, file, events, bytes, sha256): (Date, String, i64, i64, String)| {
        let days = i64::from(day.to_julian_day()) - i64::from(epoch().to_julian_day());
        ArchivedFile {
            day: Day::from_number(days),
            file,
            events: events.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
            sha256,
        }
    };
    Ok(rows.into_iter().map(file).collect())
}

fn epoch() -> Date {
    OffsetDateTime::UNIX_EPOCH.date()
}

/// Days outside the calendar are at its ends.
fn date(day: Day) -> Date {
    let days = i64::from(epoch().to_julian_day()).saturating_add(day.number());
    let end = if days < 0 { Date::MIN } else { Date::MAX };
    i32::try_from(days)
        .ok()
        .and_then(|days| Date::from_julian_day(days).ok())
        .unwrap_or(end)
}
