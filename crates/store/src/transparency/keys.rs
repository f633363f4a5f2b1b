//! What the checkpoints of a log are signed with. Texts are sealed; nothing here can read them.

use domain::{OrgId, SecretId, Timestamp, account::security_log::What};
use serde_json::json;
use sqlx::{FromRow, PgConnection, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    account_outbox::note_by,
    times::{from_database, to_database},
};

/// A key of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogKey {
    /// From 1.
    pub number: u32,
    /// What its sealed text is bound to.
    pub id: SecretId,
    /// The public part, as a verifier takes it.
    pub verifier: String,
    pub sealed: String,
    pub created_at: Timestamp,
    /// Since when it signs no more.
    pub retired_at: Option<Timestamp>,
}

impl Store {
    /// All keys that a log ever had, oldest first.
    pub async fn transparency_keys(&self, org: OrgId) -> Result<Vec<LogKey>, Error> {
        let rows: Vec<DbRow> = sqlx::query_as(
            "SELECT number, id, verifier, sealed, created_at, retired_at FROM transparency_keys
             WHERE org_id = $1 ORDER BY number",
        )
        .bind(org.uuid())
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(LogKey::from).collect())
    }

    /// Saves the first key, unless there is one: of two that are made at once, one is kept.
    pub async fn add_first_transparency_key(&self, org: OrgId, key: &LogKey) -> Result<(), Error> {
        let mut connection = self.pool.acquire().await?;
        insert(&mut connection, org, key).await?;
        Ok(())
    }

    /// Saves a key that an operator adds, and tells the trail; whether no other was saved under its number.
    pub async fn add_transparency_key(&self, org: OrgId, key: &LogKey) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        if !insert(&mut transaction, org, key).await? {
            return Ok(false);
        }
        let details = json!({"verifier": key.verifier}).to_string();
        let by = ("operator", key.created_at);
        note_by(&mut transaction, org, by, What::LogKeyAdded, vec![details]).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// The keys before that number sign no more, on an operator's word, and the trail is told of each; how many did until
    /// now.
    pub async fn retire_transparency_keys(
        &self,
        org: OrgId,
        before: u32,
        at: Timestamp,
    ) -> Result<usize, Error> {
        let mut transaction = self.pool.begin().await?;
        let retired: Vec<String> = sqlx::query_scalar(
            "UPDATE transparency_keys SET retired_at = $3
             WHERE org_id = $1 AND number < $2 AND retired_at IS NULL RETURNING verifier",
        )
        .bind(org.uuid())
        .bind(i32::try_from(before).unwrap_or(i32::MAX))
        .bind(to_database(at))
        .fetch_all(&mut *transaction)
        .await?;
        let details = retired
            .iter()
            .map(|verifier| json!({"verifier": verifier}).to_string());
        let (by, details) = (("operator", at), details.collect());
        note_by(&mut transaction, org, by, What::LogKeyRetired, details).await?;
        transaction.commit().await?;
        Ok(retired.len())
    }
}

/// Whether there was none of that number.
async fn insert(connection: &mut PgConnection, org: OrgId, key: &LogKey) -> Result<bool, Error> {
    let added = sqlx::query(
        "INSERT INTO transparency_keys (org_id, number, id, verifier, sealed, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
    )
    .bind(org.uuid())
    .bind(i32::try_from(key.number).unwrap_or(i32::MAX))
    .bind(key.id.uuid())
    .bind(&key.verifier)
    .bind(&key.sealed)
    .bind(to_database(key.created_at))
    .execute(connection)
    .await?;
    Ok(added.rows_affected() > 0)
}

#[derive(FromRow)]
struct DbRow {
    number: i32,
    id: Uuid,
    verifier: String,
    sealed: String,
    created_at: OffsetDateTime,
    retired_at: Option<OffsetDateTime>,
}

impl From<DbRow> for LogKey {
    fn from(row: DbRow) -> Self {
        Self {
            number: u32::try_from(row.number).unwrap_or(0),
            id: SecretId::from_uuid(row.id),
            verifier: row.verifier,
            sealed: row.sealed,
            created_at: from_database(row.created_at),
            retired_at: row.retired_at.map(from_database),
        }
    }
}
