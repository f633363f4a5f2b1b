//! Reads how many events there were over time: from the counts the indexer keeps, never by counting.

use std::collections::BTreeMap;

use domain::{OrgId, Timestamp};
use time::OffsetDateTime;

use super::{CountedBy, Grain};
use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// How many counts one chart may be made of; there is one for each bucket and value. A bound on memory and
/// time, not measured: the largest chart (2,000 intervals) with 100 values in each.
const COUNTS_MAX: i64 = 200_000;

/// Which counts: of the buckets that start at `from` or later and before `to`.
#[derive(Clone, Copy, Debug)]
pub struct CountsQuery {
    pub by: CountedBy,
    pub grain: Grain,
    pub from: Timestamp,
    pub to: Timestamp,
    /// How many values are told apart: those with the most events.
    pub values_most: u32,
}

/// How many events there were in each bucket that had some, by value. `None` stands for all values that
/// are not told apart.
pub type Counts = BTreeMap<Timestamp, BTreeMap<Option<String>, u64>>;

/// How many events there were in each bucket that had some: all, and those of one type.
pub type TypeCounts = BTreeMap<Timestamp, (u64, u64)>;

impl Store {
    /// How many events an organization had in the buckets that start at `from` or later and before `to`, and how
    /// many of them were of a type; `None` if there are too many counts to add up.
    pub async fn event_counts_with(
        &self,
        org: OrgId,
        grain: Grain,
        (from, to): (Timestamp, Timestamp),
        event_type: &str,
    ) -> Result<Option<TypeCounts>, Error> {
        let rows: Vec<(OffsetDateTime, i64, i64, bool)> = sqlx::query_as(
            "WITH counted AS MATERIALIZED (
                 SELECT bucket, value, events FROM event_counts
                 WHERE org_id = $1 AND field = $2 AND grain = $3 AND bucket >= $4 AND bucket < $5
                 LIMIT $6 + 1)
             SELECT bucket, sum(events)::bigint, coalesce(sum(events) FILTER (WHERE value = $7), 0)::bigint,
                    (SELECT count(*) FROM counted) > $6
             FROM counted GROUP BY bucket",
        )
        .bind(org.uuid())
        .bind(CountedBy::EventType.as_str())
        .bind(grain.as_str())
        .bind(to_database(from))
        .bind(to_database(to))
        .bind(COUNTS_MAX)
        .bind(event_type)
        .fetch_all(&self.pool)
        .await?;
        if rows.first().is_some_and(|(.., are_too_many)| *are_too_many) {
            return Ok(None);
        }
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let bucket = |(at, all, of_type, _)| (from_database(at), (count(all), count(of_type)));
        Ok(Some(rows.into_iter().map(bucket).collect()))
    }

    /// An organization's counts; `None` if there are too many to add up.
    pub async fn event_counts(
        &self,
        org: OrgId,
        wanted: &CountsQuery,
    ) -> Result<Option<Counts>, Error> {
        // The value '' is no value: it stands for many that were not counted one by one.
        let rows: Vec<(OffsetDateTime, Option<String>, i64, bool)> = sqlx::query_as(
            "WITH counted AS MATERIALIZED (
                 SELECT bucket, value, events FROM event_counts
                 WHERE org_id = $1 AND field = $2 AND grain = $3 AND bucket >= $4 AND bucket < $5
                 LIMIT $6 + 1),
             most AS (
                 SELECT value FROM counted WHERE value <> ''
                 GROUP BY value ORDER BY sum(events) DESC, value LIMIT $7)
             SELECT bucket, most.value, sum(events)::bigint, (SELECT count(*) FROM counted) > $6
             FROM counted LEFT JOIN most USING (value) GROUP BY bucket, most.value",
        )
        .bind(org.uuid())
        .bind(wanted.by.as_str())
        .bind(wanted.grain.as_str())
        .bind(to_database(wanted.from))
        .bind(to_database(wanted.to))
        .bind(COUNTS_MAX)
        .bind(i64::from(wanted.values_most))
        .fetch_all(&self.pool)
        .await?;
        let mut counts = Counts::new();
        for (bucket, value, events, are_too_many) in rows {
            if are_too_many {
                return Ok(None);
            }
            let values = counts.entry(from_database(bucket)).or_default();
            values.insert(value, u64::try_from(events).unwrap_or(0));
        }
        Ok(Some(counts))
    }
}
