//! What the data plane must still be told: written with the change, announced after it.
//!
//! One announcer at a time, oldest first, so that the last word about a thing is announced last.
//! An announcement may be made twice (a crash after it, before the row is gone), never skipped.

use sqlx::{Postgres, Transaction};

use crate::{Error, Store};

/// Serializes announcers between nodes ("wboutb" in ASCII).
const LOCK: i64 = 0x7762_6f75_7462;
/// How many announcements one round makes; the rest is for the next.
const ROUND_MAX: i64 = 500;

/// One thing to announce. The store does not look inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    pub bucket: String,
    pub key: String,
    pub value: Option<String>,
}

/// Announcements taken out; they are gone once [`Round::finish`] has returned.
pub struct Round {
    transaction: Transaction<'static, Postgres>,
    ids: Vec<i64>,
    names: Vec<String>,
    pub entries: Vec<OutboxEntry>,
}

impl Store {
    /// Waits for its turn and takes what is to be announced in these buckets. What is for others waits for a node
    /// that knows them: during an upgrade, a newer one.
    pub async fn outbox_round(&self, buckets: &[&str]) -> Result<Round, Error> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(LOCK)
            .execute(&mut *transaction)
            .await?;
        // A database that was put back to an earlier state gives the same numbers again, at another time.
        let rows: Vec<(i64, String, String, String, Option<String>)> = sqlx::query_as(
            "SELECT id, concat_ws('-', id, extract(epoch FROM written_at)), bucket, key, value
             FROM config_outbox WHERE bucket = ANY($1) ORDER BY id LIMIT $2",
        )
        .bind(buckets)
        .bind(ROUND_MAX)
        .fetch_all(&mut *transaction)
        .await?;
        let mut round = Round {
            transaction,
            ids: Vec::with_capacity(rows.len()),
            names: Vec::with_capacity(rows.len()),
            entries: Vec::with_capacity(rows.len()),
        };
        for (id, name, bucket, key, value) in rows {
            round.ids.push(id);
            round.names.push(name);
            round.entries.push(OutboxEntry { bucket, key, value });
        }
        Ok(round)
    }
}

impl Round {
    /// What was taken out, each with a name that no other announcement has.
    pub fn named(&self) -> impl Iterator<Item = (&str, &OutboxEntry)> {
        self.names.iter().map(String::as_str).zip(&self.entries)
    }

    /// Whether more may be waiting than one round takes.
    pub fn is_full(&self) -> bool {
        i64::try_from(self.entries.len()).is_ok_and(|entries| entries >= ROUND_MAX)
    }

    /// Everything taken out was announced.
    pub async fn finish(mut self) -> Result<(), Error> {
        sqlx::query("DELETE FROM config_outbox WHERE id = ANY($1)")
            .bind(&self.ids)
            .execute(&mut *self.transaction)
            .await?;
        self.transaction.commit().await?;
        Ok(())
    }
}

pub(crate) async fn enqueue(
    transaction: &mut Transaction<'_, Postgres>,
    entry: &OutboxEntry,
) -> Result<(), Error> {
    sqlx::query("INSERT INTO config_outbox (bucket, key, value) VALUES ($1, $2, $3)")
        .bind(&entry.bucket)
        .bind(&entry.key)
        .bind(&entry.value)
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

/// The same for many that are each about another thing, all at once.
pub(crate) async fn enqueue_all(
    transaction: &mut Transaction<'_, Postgres>,
    entries: Vec<OutboxEntry>,
) -> Result<(), Error> {
    let (mut buckets, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        buckets.push(entry.bucket);
        keys.push(entry.key);
        values.push(entry.value);
    }
    sqlx::query(
        "INSERT INTO config_outbox (bucket, key, value)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[])",
    )
    .bind(buckets)
    .bind(keys)
    .bind(values)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}
