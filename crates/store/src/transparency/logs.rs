//! How far each log is, and what moves with it: rows of the outbox that have their index now, and where full bundles begin
//! and end in time.

use std::{collections::HashSet, time::Duration};

use domain::{OrgId, Timestamp, account::security_log::What, partition::Partition};
use serde_json::json;
use sqlx::{FromRow, Postgres, Transaction, types::time::OffsetDateTime};
use trail_proof::leaf::LEAF_BYTES;
use uuid::Uuid;

use super::{
    Leaves,
    outbox::{Row, from_index, number, to_count, to_index},
};
use crate::{
    Error, Store,
    account_outbox::note_by,
    times::{from_database, to_database},
};

/// A log as of its last signed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    pub origin: String,
    pub size: u64,
    /// The roots of its complete subtrees, the largest first, 32 bytes each.
    pub edge: Vec<u8>,
    pub checkpoint: Option<String>,
    pub signed_at: Option<Timestamp>,
    /// Leaves up to this time may be in the log although they wait.
    pub adopted_until: Option<Timestamp>,
    /// Why nothing is signed any more.
    pub stopped: Option<String>,
    /// The newest checkpoint that a witness cosigned.
    pub witnessed: Option<Witnessed>,
}

/// A checkpoint with the cosignatures of witnesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnessed {
    pub size: u64,
    pub checkpoint: String,
    /// For how long the log has had a newer one, by the database's clock; `None`: it has none.
    pub outgrown_for: Option<Duration>,
}

/// The next state of a log.
#[derive(Clone, Debug)]
pub struct Advance {
    /// The size from which it goes on: whoever believes in another one has not seen all.
    pub from: u64,
    pub size: u64,
    pub edge: Vec<u8>,
    pub checkpoint: String,
    pub at: Timestamp,
    /// Of those that are full now.
    pub bundles: Vec<BundleTimes>,
}

/// From when to when the leaves of a bundle are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleTimes {
    pub number: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// Leaves that the files have and PostgreSQL does not know of.
#[derive(Clone, Debug)]
pub struct Adopted {
    pub partition: Partition,
    pub leaves: Leaves,
    /// The latest time of one.
    pub until: Timestamp,
}

impl Store {
    /// `None`: nothing was ever appended.
    pub async fn transparency_log(&self, org: OrgId) -> Result<Option<LogState>, Error> {
        let row: Option<DbRow> = sqlx::query_as(
            "SELECT origin, size, edge, checkpoint, signed_at, adopted_until, stopped, witnessed_size,
                 witnessed_checkpoint, EXTRACT(EPOCH FROM now() - outgrown_at)::float8 AS outgrown_for_s
             FROM transparency_logs WHERE org_id = $1",
        )
        .bind(org.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(LogState::from))
    }

    /// Begins a log, unless there is one.
    pub async fn begin_transparency_log(&self, org: OrgId, origin: &str) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO transparency_logs (org_id, origin, size, edge) VALUES ($1, $2, 0, '')
             ON CONFLICT DO NOTHING",
        )
        .bind(org.uuid())
        .bind(origin)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Moves a log past leaves that waited; whether it was still where `advance` goes on from.
    pub async fn append_waiting(
        &self,
        org: OrgId,
        advance: &Advance,
        rows: &[Row],
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        if !move_on(&mut transaction, org, advance).await? {
            return Ok(false);
        }
        let mut first = advance.from;
        let firsts = rows.iter().map(|row| {
            let index = first;
            first += row.count as u64;
            to_index(index)
        });
        let firsts: Vec<i64> = firsts.collect();
        sqlx::query(
            "UPDATE transparency_outbox AS waiting SET first_index = row.first_index, appended_at = $4
             FROM UNNEST($2::bigint[], $3::bigint[]) AS row (id, first_index)
             WHERE waiting.org_id = $1 AND waiting.id = row.id",
        )
        .bind(org.uuid())
        .bind(rows.iter().map(|row| row.id).collect::<Vec<_>>())
        .bind(firsts)
        .bind(to_database(advance.at))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Moves a log past leaves that the files have already: somebody died before PostgreSQL knew, or PostgreSQL was put
    /// back to an earlier state. Those of them that wait do so no more. Whether the log was still where `advance` goes on
    /// from.
    pub async fn adopt_leaves(
        &self,
        org: OrgId,
        advance: &Advance,
        adopted: &Adopted,
    ) -> Result<bool, Error> {
        let mut transaction = self.pool.begin().await?;
        if !move_on(&mut transaction, org, advance).await? {
            return Ok(false);
        }
        forget_waiting(&mut transaction, org, adopted).await?;
        sqlx::query(
            "INSERT INTO transparency_outbox (org_id, partition, leaves, count, first_index, appended_at)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(org.uuid())
        .bind(number(adopted.partition))
        .bind(&adopted.leaves.0)
        .bind(to_count(adopted.leaves.count()))
        .bind(to_index(advance.from))
        .bind(to_database(advance.at))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "UPDATE transparency_logs SET adopted_until = GREATEST(adopted_until, $2) WHERE org_id = $1",
        )
        .bind(org.uuid())
        .bind(to_database(adopted.until))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Takes leaves out of rows that wait: the log has them already.
    pub async fn drop_waiting(&self, org: OrgId, adopted: &Adopted) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await?;
        forget_waiting(&mut transaction, org, adopted).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Nothing is signed any more, until a person has seen to it.
    pub async fn stop_transparency_log(&self, org: OrgId, reason: &str) -> Result<(), Error> {
        sqlx::query(
            "UPDATE transparency_logs SET stopped = $2 WHERE org_id = $1 AND stopped IS NULL",
        )
        .bind(org.uuid())
        .bind(reason)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The logs that have stopped, at most so many, and why.
    pub async fn stopped_transparency_logs(
        &self,
        limit: u32,
    ) -> Result<Vec<(OrgId, String)>, Error> {
        let rows: Vec<(Uuid, String)> = sqlx::query_as(
            "SELECT org_id, stopped FROM transparency_logs WHERE stopped IS NOT NULL ORDER BY org_id LIMIT $1",
        )
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        let log = |(org, why)| (OrgId::from_uuid(org), why);
        Ok(rows.into_iter().map(log).collect())
    }

    /// Lets a log that had stopped go on, on an operator's word, and tells the trail; why it had stopped, if it had. The
    /// next sequencer that compares it with its files stops it again, if it must.
    pub async fn resume_transparency_log(
        &self,
        org: OrgId,
        at: Timestamp,
    ) -> Result<Option<String>, Error> {
        let mut transaction = self.pool.begin().await?;
        let stopped: Option<String> = sqlx::query_scalar(
            "SELECT stopped FROM transparency_logs
             WHERE org_id = $1 AND stopped IS NOT NULL FOR UPDATE",
        )
        .bind(org.uuid())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(reason) = stopped else {
            return Ok(None);
        };
        sqlx::query("UPDATE transparency_logs SET stopped = NULL WHERE org_id = $1")
            .bind(org.uuid())
            .execute(&mut *transaction)
            .await?;
        let details = vec![json!({"stopped": reason}).to_string()];
        let by = ("operator", at);
        note_by(&mut transaction, org, by, What::LogResumed, details).await?;
        transaction.commit().await?;
        Ok(Some(reason))
    }

    /// Forgets leaves that full bundles have, once they had them for a while.
    pub async fn forget_appended(
        &self,
        org: OrgId,
        in_full_bundles: u64,
        before: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query(
            "DELETE FROM transparency_outbox
             WHERE org_id = $1 AND first_index + count <= $2 AND appended_at < $3",
        )
        .bind(org.uuid())
        .bind(to_index(in_full_bundles))
        .bind(to_database(before))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

async fn move_on(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    advance: &Advance,
) -> Result<bool, Error> {
    let moved = sqlx::query(
        "UPDATE transparency_logs SET size = $3, edge = $4, checkpoint = $5, signed_at = $6,
             outgrown_at = COALESCE(outgrown_at, now())
         WHERE org_id = $1 AND size = $2 AND stopped IS NULL",
    )
    .bind(org.uuid())
    .bind(to_index(advance.from))
    .bind(to_index(advance.size))
    .bind(&advance.edge)
    .bind(&advance.checkpoint)
    .bind(to_database(advance.at))
    .execute(&mut **transaction)
    .await?;
    if moved.rows_affected() == 0 {
        return Ok(false);
    }
    let times = |value: fn(&BundleTimes) -> Timestamp| {
        let time = |bundle| to_database(value(bundle));
        advance.bundles.iter().map(time).collect::<Vec<_>>()
    };
    let numbers = advance.bundles.iter().map(|bundle| to_index(bundle.number));
    sqlx::query(
        "INSERT INTO transparency_bundles (org_id, number, first_at, last_at)
         SELECT $1, * FROM UNNEST($2::bigint[], $3::timestamptz[], $4::timestamptz[])
         ON CONFLICT DO NOTHING",
    )
    .bind(org.uuid())
    .bind(numbers.collect::<Vec<_>>())
    .bind(times(|bundle| bundle.first_at))
    .bind(times(|bundle| bundle.last_at))
    .execute(&mut **transaction)
    .await?;
    Ok(true)
}

async fn forget_waiting(
    transaction: &mut Transaction<'_, Postgres>,
    org: OrgId,
    adopted: &Adopted,
) -> Result<(), Error> {
    let known: HashSet<&[u8; LEAF_BYTES]> = adopted.leaves.iter().collect();
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT id, leaves FROM transparency_outbox
         WHERE partition = $1 AND org_id = $2 AND first_index IS NULL ORDER BY id FOR UPDATE",
    )
    .bind(number(adopted.partition))
    .bind(org.uuid())
    .fetch_all(&mut **transaction)
    .await?;
    for (id, leaves) in rows {
        let leaves = Leaves(leaves);
        let left: Leaves = leaves.iter().filter(|leaf| !known.contains(leaf)).collect();
        if left.is_empty() {
            sqlx::query("DELETE FROM transparency_outbox WHERE org_id = $1 AND id = $2")
                .bind(org.uuid())
                .bind(id)
                .execute(&mut **transaction)
                .await?;
        } else if left.count() < leaves.count() {
            sqlx::query(
                "UPDATE transparency_outbox SET leaves = $3, count = $4 WHERE org_id = $1 AND id = $2",
            )
            .bind(org.uuid())
            .bind(id)
            .bind(&left.0)
            .bind(to_count(left.count()))
            .execute(&mut **transaction)
            .await?;
        }
    }
    Ok(())
}

#[derive(FromRow)]
struct DbRow {
    origin: String,
    size: i64,
    edge: Vec<u8>,
    checkpoint: Option<String>,
    signed_at: Option<OffsetDateTime>,
    adopted_until: Option<OffsetDateTime>,
    stopped: Option<String>,
    witnessed_size: Option<i64>,
    witnessed_checkpoint: Option<String>,
    outgrown_for_s: Option<f64>,
}

impl From<DbRow> for LogState {
    fn from(row: DbRow) -> Self {
        let witnessed = row.witnessed_size.zip(row.witnessed_checkpoint);
        let outgrown_for = row
            .outgrown_for_s
            .map(|seconds| Duration::from_secs_f64(seconds.max(0.0)));
        Self {
            origin: row.origin,
            size: from_index(row.size),
            edge: row.edge,
            checkpoint: row.checkpoint,
            signed_at: row.signed_at.map(from_database),
            adopted_until: row.adopted_until.map(from_database),
            stopped: row.stopped,
            witnessed: witnessed.map(|(size, checkpoint)| Witnessed {
                size: from_index(size),
                checkpoint,
                outgrown_for,
            }),
        }
    }
}
