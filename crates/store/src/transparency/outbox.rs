//! Leaves on their way into the log: written with their rows, appended by the sequencer, kept until a full bundle has them.

use std::collections::BTreeMap;

use domain::{
    OrgId,
    partition::{Partition, Partitions},
};
use sqlx::{Postgres, Transaction};
use trail_proof::leaf::{LEAF_BYTES, Leaf};
use uuid::Uuid;

use super::Leaves;
use crate::{Error, Store};

/// How many logs are looked after in one round; more are in the next.
const LOGS_AT_A_TIME: i64 = 1_000;
/// How many rows of the outbox are appended to a log in one step. A row has the events of one transaction of the indexer, at most
/// some 8,000, so a step is at most some 8 MB.
const ROWS_AT_A_TIME: i64 = 16;

/// Leaves of one organization that wait to be appended, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The rows of the outbox that they are in.
    pub rows: Vec<Row>,
    pub leaves: Leaves,
}

/// A row of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub count: usize,
}

/// Puts the leaves of rows that a transaction writes into the outbox.
pub(crate) async fn put(
    transaction: &mut Transaction<'_, Postgres>,
    partitions: Partitions,
    leaves: impl Iterator<Item = (OrgId, Leaf)>,
) -> Result<(), Error> {
    let mut by_org: BTreeMap<OrgId, Leaves> = BTreeMap::new();
    for (org, leaf) in leaves {
        by_org.entry(org).or_default().push(&leaf.encode());
    }
    if by_org.is_empty() {
        return Ok(());
    }
    let orgs: Vec<Uuid> = by_org.keys().map(|org| org.uuid()).collect();
    let numbers = by_org.keys().map(|org| number(partitions.of(*org)));
    let counts = by_org.values().map(|leaves| to_count(leaves.count()));
    sqlx::query(
        "INSERT INTO transparency_outbox (org_id, partition, leaves, count)
         SELECT * FROM UNNEST($1::uuid[], $2::smallint[], $3::bytea[], $4::int[])",
    )
    .bind(orgs)
    .bind(numbers.collect::<Vec<i16>>())
    .bind(by_org.values().map(|leaves| &leaves.0).collect::<Vec<_>>())
    .bind(counts.collect::<Vec<i32>>())
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

impl Store {
    /// The organizations of a partition for whom leaves wait, but for those whose log has stopped.
    pub async fn logs_with_leaves_waiting(
        &self,
        partition: Partition,
    ) -> Result<Vec<OrgId>, Error> {
        let orgs: Vec<Uuid> = sqlx::query_scalar(
            "SELECT DISTINCT org_id FROM transparency_outbox AS waiting
             WHERE partition = $1 AND first_index IS NULL AND NOT EXISTS (
                 SELECT FROM transparency_logs AS log WHERE log.org_id = waiting.org_id AND stopped IS NOT NULL)
             LIMIT $2",
        )
        .bind(number(partition))
        .bind(LOGS_AT_A_TIME)
        .fetch_all(&self.pool)
        .await?;
        Ok(orgs.into_iter().map(OrgId::from_uuid).collect())
    }

    /// Tells whether what waits has moved: something of the leaves of a partition that wait, but for those whose log has stopped.
    pub async fn first_leaf_waiting(&self, partition: Partition) -> Result<Option<i64>, Error> {
        let first = sqlx::query_scalar(
            "SELECT min(id) FROM transparency_outbox AS waiting
             WHERE partition = $1 AND first_index IS NULL AND NOT EXISTS (
                 SELECT FROM transparency_logs AS log WHERE log.org_id = waiting.org_id AND stopped IS NOT NULL)",
        )
        .bind(number(partition))
        .fetch_one(&self.pool)
        .await?;
        Ok(first)
    }

    /// The newest row that waits to be appended to a log, of those up to `upto`.
    pub async fn newest_waiting(
        &self,
        org: OrgId,
        partition: Partition,
        upto: i64,
    ) -> Result<Option<i64>, Error> {
        let newest = sqlx::query_scalar(
            "SELECT max(id) FROM transparency_outbox
             WHERE partition = $1 AND org_id = $2 AND id <= $3 AND first_index IS NULL",
        )
        .bind(number(partition))
        .bind(org.uuid())
        .bind(upto)
        .fetch_one(&self.pool)
        .await?;
        Ok(newest)
    }

    /// What waits to be appended to a log next.
    pub async fn leaves_waiting(&self, org: OrgId, partition: Partition) -> Result<Waiting, Error> {
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT id, leaves FROM transparency_outbox
             WHERE partition = $1 AND org_id = $2 AND first_index IS NULL ORDER BY id LIMIT $3",
        )
        .bind(number(partition))
        .bind(org.uuid())
        .bind(ROWS_AT_A_TIME)
        .fetch_all(&self.pool)
        .await?;
        let mut waiting = Waiting::default();
        for (id, leaves) in rows {
            let count = leaves.len() / LEAF_BYTES;
            waiting.rows.push(Row { id, count });
            waiting.leaves.append(&Leaves(leaves));
        }
        Ok(waiting)
    }

    /// The leaves from `start` up to the log's size, as far as they are kept: those that no full bundle has. `None` if one of
    /// them is missing.
    pub async fn last_leaves(
        &self,
        org: OrgId,
        start: u64,
        size: u64,
    ) -> Result<Option<Leaves>, Error> {
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT first_index, leaves FROM transparency_outbox
             WHERE org_id = $1 AND first_index + count > $2 AND first_index < $3 ORDER BY first_index",
        )
        .bind(org.uuid())
        .bind(to_index(start))
        .bind(to_index(size))
        .fetch_all(&self.pool)
        .await?;
        let (mut last, mut next) = (Leaves::default(), start);
        for (first, leaves) in rows {
            let leaves = Leaves(leaves);
            let skipped =
                usize::try_from(next.saturating_sub(from_index(first))).unwrap_or(usize::MAX);
            if from_index(first) > next || skipped > leaves.count() {
                return Ok(None);
            }
            let wanted = usize::try_from(size - next).unwrap_or(usize::MAX);
            for leaf in leaves.iter().skip(skipped).take(wanted) {
                last.push(leaf);
                next += 1;
            }
        }
        Ok((next == size).then_some(last))
    }
}

pub(super) fn number(partition: Partition) -> i16 {
    i16::try_from(partition.index()).expect("there are at most 256 partitions")
}

pub(super) fn to_count(count: usize) -> i32 {
    i32::try_from(count).expect("a transaction writes a few thousand rows")
}

pub(super) fn to_index(index: u64) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

pub(super) fn from_index(index: i64) -> u64 {
    u64::try_from(index).unwrap_or(0)
}
