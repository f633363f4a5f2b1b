//! Erasures as customers ask for them and see them.

use domain::{ErasureId, EventId, OrgId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    page::Page,
    times::{from_database, to_database},
};

/// What is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// These events.
    Ids(Vec<EventId>),
    /// Those that a filter asks for, as JSON, between the newest and the oldest; `None`: there are none.
    Filter(String, Option<(EventId, EventId)>),
}

/// An erasure to be made.
pub struct NewErasure {
    pub org: OrgId,
    pub id: ErasureId,
    pub asked_by: String,
    pub reason: String,
    pub what: What,
    pub created_at: Timestamp,
}

/// An erasure as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureRow {
    pub id: ErasureId,
    pub asked_by: String,
    pub reason: String,
    /// As JSON; `None`: it names its events.
    pub filter: Option<String>,
    pub state: String,
    pub erased: u64,
    pub already_erased: u64,
    pub kept: u64,
    pub not_found: Vec<EventId>,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    asked_by: String,
    reason: String,
    filter: Option<String>,
    state: String,
    erased: i64,
    already: i64,
    kept: i64,
    not_found: Vec<Uuid>,
    error: Option<String>,
    created_at: OffsetDateTime,
    finished_at: Option<OffsetDateTime>,
}

macro_rules! columns {
    () => {
        "id, asked_by, reason, filter, state, erased, already, kept, not_found, error, created_at, finished_at"
    };
}

impl Store {
    /// Makes an erasure; `false` if the organization has `running_max` already.
    pub async fn insert_erasure(
        &self,
        erasure: &NewErasure,
        running_max: u32,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        // One at a time for each organization, or two could both find room for one.
        sqlx::query("SELECT id FROM organisations WHERE id = $1 FOR NO KEY UPDATE")
            .bind(erasure.org.uuid())
            .execute(&mut *transaction)
            .await?;
        let running: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM erasures WHERE org_id = $1 AND state = 'running'",
        )
        .bind(erasure.org.uuid())
        .fetch_one(&mut *transaction)
        .await?;
        if running >= i64::from(running_max) {
            return Ok(false);
        }
        // Long before anything is erased, so that whoever writes events looks for what is.
        sqlx::query(
            "INSERT INTO organizations_with_erasures (org_id) VALUES ($1) ON CONFLICT DO NOTHING",
        )
        .bind(erasure.org.uuid())
        .execute(&mut *transaction)
        .await?;
        let (ids, filter, range) = match &erasure.what {
            What::Ids(ids) => (Some(ids), None, None),
            What::Filter(filter, range) => (None, Some(filter), *range),
        };
        let ids = ids.map(|ids| ids.iter().map(|id| id.uuid()).collect::<Vec<_>>());
        sqlx::query(
            "INSERT INTO erasures (org_id, id, asked_by, reason, ids, filter, newest, oldest, state, ids_seen, is_found, page,
                                   page_number, erased, already, kept, not_found, tries, created_at, leased_until)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', 0, false, '{}', 0, 0, 0, 0, '{}', 0, $9, now())",
        )
        .bind(erasure.org.uuid())
        .bind(erasure.id.uuid())
        .bind(&erasure.asked_by)
        .bind(&erasure.reason)
        .bind(ids)
        .bind(filter)
        .bind(range.map(|(newest, _)| newest.uuid()))
        .bind(range.map(|(_, oldest)| oldest.uuid()))
        .bind(to_database(erasure.created_at))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    pub async fn erasure(&self, org: OrgId, id: ErasureId) -> Result<Option<ErasureRow>, Error> {
        let row: Option<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM erasures WHERE org_id = $1 AND id = $2"
        ))
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(ErasureRow::from))
    }

    /// An organization's erasures, newest first, from below `before` on.
    pub async fn list_erasures(
        &self,
        org: OrgId,
        before: Option<ErasureId>,
        limit: u32,
    ) -> Result<Page<ErasureRow, ErasureId>, Error> {
        let rows: Vec<Row> = sqlx::query_as(concat!(
            "SELECT ",
            columns!(),
            " FROM erasures WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(org.uuid())
        .bind(before.map_or(Uuid::max(), ErasureId::uuid))
        .bind(i64::from(limit) + 1)
        .fetch_all(&self.pool)
        .await?;
        let rows = rows.into_iter().map(ErasureRow::from).collect();
        Ok(Page::from_rows(rows, limit, |erasure: &ErasureRow| {
            erasure.id
        }))
    }
}

impl From<Row> for ErasureRow {
    fn from(row: Row) -> Self {
        Self {
            id: ErasureId::from_uuid(row.id),
            asked_by: row.asked_by,
            reason: row.reason,
            filter: row.filter,
            state: row.state,
            erased: row.erased.unsigned_abs(),
            already_erased: row.already.unsigned_abs(),
            kept: row.kept.unsigned_abs(),
            not_found: row.not_found.into_iter().map(EventId::from_uuid).collect(),
            error: row.error,
            created_at: from_database(row.created_at),
            finished_at: row.finished_at.map(from_database),
        }
    }
}
