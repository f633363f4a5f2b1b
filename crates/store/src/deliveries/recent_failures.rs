//! How many of the last attempts at endpoints failed.

use std::{collections::HashMap, time::Duration};

use domain::{OrgId, Timestamp, delivery::Outcome};
use sqlx::types::time::OffsetDateTime;

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
/// How many of an endpoint are counted, the newest first. A receiver that is down for all of a day has fewer: its breaker
/// opens.
const COUNTED_MAX: i64 = 1_000;

/// The failed attempts at an endpoint that say something about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentFailures {
    pub last_hour: u64,
    pub last_day: u64,
    pub last_at: Option<Timestamp>,
    /// Whether only the newest were counted.
    pub is_cut: bool,
}

impl Store {
    /// Counts the failed attempts at each of some URLs; those with none are left out. An attempt that never reached the
    /// receiver, for a reason of ours, says nothing about it.
    pub async fn recent_failures(
        &self,
        org: OrgId,
        urls: &[String],
        now: Timestamp,
    ) -> Result<HashMap<String, RecentFailures>, Error> {
        let ours = [Outcome::OurFault, Outcome::Blocked].map(Outcome::as_str);
        let rows: Vec<(String, i64, i64, OffsetDateTime)> = sqlx::query_as(
            "SELECT wanted.url, recent.last_hour, recent.last_day, recent.last_at
             FROM unnest($2::text[]) AS wanted (url), LATERAL (
                 SELECT count(*) FILTER (WHERE finished_at >= $4) AS last_hour, count(*) AS last_day,
                        max(finished_at) AS last_at
                 FROM (SELECT finished_at FROM delivery_attempts
                       WHERE org_id = $1 AND url = wanted.url AND finished_at >= $3
                         AND outcome <> 'delivered' AND outcome <> ALL ($5)
                       ORDER BY finished_at DESC LIMIT $6) AS newest) AS recent
             WHERE recent.last_day > 0",
        )
        .bind(org.uuid())
        .bind(urls)
        .bind(to_database(now.minus(DAY)))
        .bind(to_database(now.minus(HOUR)))
        .bind(ours.as_slice())
        .bind(COUNTED_MAX)
        .fetch_all(&self.pool)
        .await?;
        let failures = |(url, last_hour, last_day, last_at): (_, i64, i64, _)| {
            let failures = RecentFailures {
                last_hour: last_hour.unsigned_abs(),
                last_day: last_day.unsigned_abs(),
                last_at: Some(from_database(last_at)),
                is_cut: last_day == COUNTED_MAX,
            };
            (url, failures)
        };
        Ok(rows.into_iter().map(failures).collect())
    }
}
