//! How often rules matched, by hour.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use domain::{DeliveryId, OrgId, RuleId, Timestamp};
use sqlx::{FromRow, PgConnection, types::time::OffsetDateTime};
use uuid::Uuid;

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// What is shown beside a rule reaches back so far: the hour that is now and the 23 before it.
const SHOWN: Duration = Duration::from_hours(23);

/// What became of one match of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    pub org: OrgId,
    pub rule: RuleId,
    pub at: Timestamp,
    pub fate: MatchFate,
    /// The delivery that it made; `None` if it only counts.
    pub delivery: Option<DeliveryId>,
    /// The rule had more groups than it remembers.
    pub overflowed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchFate {
    /// It counts toward a threshold.
    Counted,
    /// To be sent.
    Alert,
    Suppressed,
    /// Snoozed, or only watched.
    Withheld,
}

/// What a rule did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleStats {
    pub matched_24h: u64,
    pub alerts_24h: u64,
    pub suppressed_24h: u64,
    /// Alerts that were not sent because the rule was snoozed, or only watched.
    pub withheld_24h: u64,
    /// How often it had more groups than it remembers.
    pub overflows_24h: u64,
    /// When it matched last, however long ago that was, as far as counts are kept.
    pub last_matched_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Row {
    rule_id: Uuid,
    matched: i64,
    alerts: i64,
    suppressed: i64,
    withheld: i64,
    overflows: i64,
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
                    coalesce(sum(withheld) FILTER (WHERE bucket >= $3), 0)::bigint AS withheld,
                    coalesce(sum(overflows) FILTER (WHERE bucket >= $3), 0)::bigint AS overflows,
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
                withheld_24h: count(row.withheld),
                overflows_24h: count(row.overflows),
                last_matched_at: row.last_at.map(from_database),
            };
            (RuleId::from_uuid(row.rule_id), stats)
        };
        Ok(rows.into_iter().map(stats).collect())
    }
}

impl Store {
    /// Forgets what was counted before then; how many rows that were.
    pub async fn forget_rule_counts(&self, before: Timestamp) -> Result<u64, Error> {
        self.forget_in_slices(
            "DELETE FROM rule_counts WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM rule_counts WHERE bucket < $1 LIMIT $2))",
            before,
        )
        .await
    }
}

/// The matches of one rule in one hour.
#[derive(Default)]
struct Sums {
    matched: i64,
    alerts: i64,
    suppressed: i64,
    withheld: i64,
    overflows: i64,
    last_at: Timestamp,
}

/// Counts matches, all of which are new.
pub(crate) async fn add(connection: &mut PgConnection, matches: &[RuleMatch]) -> Result<(), Error> {
    if matches.is_empty() {
        return Ok(());
    }
    // In one order, so that two that count at once never wait for each other.
    let mut hours: BTreeMap<(OrgId, RuleId, Timestamp), Sums> = BTreeMap::new();
    for it in matches {
        let hour = (it.org, it.rule, start_of_hour(it.at));
        let sums = hours.entry(hour).or_default();
        sums.matched += 1;
        match it.fate {
            MatchFate::Counted => {}
            MatchFate::Alert => sums.alerts += 1,
            MatchFate::Suppressed => sums.suppressed += 1,
            MatchFate::Withheld => sums.withheld += 1,
        }
        sums.overflows += i64::from(it.overflowed);
        sums.last_at = sums.last_at.max(it.at);
    }
    let column = |value: fn(&Sums) -> i64| hours.values().map(value).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO rule_counts (org_id, rule_id, bucket, matched, alerts, suppressed, withheld,
                                  overflows, last_at)
         SELECT org_id, rule_id, bucket, matched, alerts, suppressed, withheld, overflows, last_at
         FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[],
                     $7::bigint[], $8::bigint[], $9::timestamptz[])
              AS row (org_id, rule_id, bucket, matched, alerts, suppressed, withheld, overflows, last_at)
         ON CONFLICT (org_id, rule_id, bucket) DO UPDATE
         SET matched = rule_counts.matched + EXCLUDED.matched,
             alerts = rule_counts.alerts + EXCLUDED.alerts,
             suppressed = rule_counts.suppressed + EXCLUDED.suppressed,
             withheld = rule_counts.withheld + EXCLUDED.withheld,
             overflows = rule_counts.overflows + EXCLUDED.overflows,
             last_at = GREATEST(rule_counts.last_at, EXCLUDED.last_at)",
    )
    .bind(hours.keys().map(|(org, _, _)| org.uuid()).collect::<Vec<_>>())
    .bind(hours.keys().map(|(_, rule, _)| rule.uuid()).collect::<Vec<_>>())
    .bind(hours.keys().map(|(_, _, hour)| to_database(*hour)).collect::<Vec<_>>())
    .bind(column(|sums| sums.matched))
    .bind(column(|sums| sums.alerts))
    .bind(column(|sums| sums.suppressed))
    .bind(column(|sums| sums.withheld))
    .bind(column(|sums| sums.overflows))
    .bind(hours.values().map(|sums| to_database(sums.last_at)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// The hour that a time is in.
pub fn start_of_hour(at: Timestamp) -> Timestamp {
    const HOUR_MILLIS: i64 = 3_600_000;
    Timestamp::from_unix_millis(at.unix_millis().div_euclid(HOUR_MILLIS) * HOUR_MILLIS)
}
