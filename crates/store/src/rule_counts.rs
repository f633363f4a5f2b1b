//! How often rules matched, by hour.

use std::{collections::HashMap, time::Duration};

use domain::{OrgId, RuleId, Timestamp};
use sqlx::{FromRow, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// What is shown beside a rule reaches back so far: the hour that is now and the 23 before it.
const SHOWN: Duration = Duration::from_hours(23);

/// What a rule did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleStats {
    pub matched_24h: u64,
    pub alerts_24h: u64,
    pub suppressed_24h: u64,
    /// When it matched last, however long ago that was, as far as counts are kept.
    pub last_matched_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Row {
    rule_id: Uuid,
    matched: i64,
    alerts: i64,
    suppressed: i64,
    last_at: Option<OffsetDateTime>,
}

impl Store {
    /// What these rules did in the last day, counted by the hour; a rule that never matched is left out.
    pub async fn rule_stats(
        &self,
        org: OrgId,
        rules: &[RuleId],
        now: Timestamp,
    ) -> Result<HashMap<RuleId, RuleStats>, Error> {
        let ids: Vec<Uuid> = rules.iter().map(|rule| rule.uuid()).collect();
        // Sums of bigint are numeric, which we do not read; an hour's counts are far from overflowing.
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT rule_id,
                    coalesce(sum(matched) FILTER (WHERE bucket >= $3), 0)::bigint AS matched,
                    coalesce(sum(alerts) FILTER (WHERE bucket >= $3), 0)::bigint AS alerts,
                    coalesce(sum(suppressed) FILTER (WHERE bucket >= $3), 0)::bigint AS suppressed,
                    max(last_at) AS last_at
             FROM rule_counts WHERE org_id = $1 AND rule_id = ANY ($2) GROUP BY rule_id",
        )
        .bind(org.uuid())
        .bind(&ids)
        .bind(to_database(start_of_hour(now.minus(SHOWN))))
        .fetch_all(&self.pool)
        .await?;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let stats = |row: Row| {
            let stats = RuleStats {
                matched_24h: count(row.matched),
                alerts_24h: count(row.alerts),
                suppressed_24h: count(row.suppressed),
                last_matched_at: row.last_at.map(from_database),
            };
            (RuleId::from_uuid(row.rule_id), stats)
        };
        Ok(rows.into_iter().map(stats).collect())
    }
}

fn start_of_hour(at: Timestamp) -> Timestamp {
    const HOUR_MILLIS: i64 = 3_600_000;
    Timestamp::from_unix_millis(at.unix_millis().div_euclid(HOUR_MILLIS) * HOUR_MILLIS)
}
