//! Deliveries over time by where they stand, and the one that has waited longest.

use domain::{DeliveryId, EventId, OrgId, Timestamp};
use sqlx::types::time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// How many deliveries of a time are counted, the newest first: each is read, because most are delivered and those
/// have no index by state.
const COUNTED_MAX: i64 = 100_000;

/// How many deliveries there were in an interval, by their state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveriesAt {
    /// Which interval, from 0.
    pub interval: usize,
    pub state: String,
    /// Whether they have been under way, or were, since before the time that was asked about.
    pub is_old: bool,
    pub deliveries: u64,
}

/// The deliveries of a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveriesOverTime {
    pub counts: Vec<DeliveriesAt>,
    /// Whether all of them were counted, and not only the newest.
    pub is_complete: bool,
}

impl Store {
    /// Counts an organization's deliveries in the intervals that begin at `starts`, in order, the last of which ends
    /// at `to`. A delivery is of the time in its id, which is that of its event, or of the test or summary it is. Those
    /// that matched or were resent before `old_before` are counted apart.
    pub async fn deliveries_over_time(
        &self,
        org: OrgId,
        starts: &[Timestamp],
        to: Timestamp,
        old_before: Timestamp,
    ) -> Result<DeliveriesOverTime, Error> {
        let first_at = |at: Timestamp| EventId::first_at(at).uuid();
        let starts: Vec<Uuid> = starts.iter().map(|at| first_at(*at)).collect();
        // Ids are in order of time, so an interval is found without reading the time from each.
        let rows: Vec<(i32, String, bool, i64)> = sqlx::query_as(
            "SELECT width_bucket(id, $4) AS number, state, is_old, count(*)
             FROM (SELECT id, state, coalesce(round_at, matched_at) < $6 AS is_old FROM deliveries
                   WHERE org_id = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $5) AS newest
             GROUP BY number, state, is_old",
        )
        .bind(org.uuid())
        .bind(starts.first().copied().unwrap_or_default())
        .bind(first_at(to))
        .bind(&starts)
        .bind(COUNTED_MAX)
        .bind(to_database(old_before))
        .fetch_all(&self.pool)
        .await?;
        let counted: i64 = rows.iter().map(|(.., count)| count).sum();
        let counts = rows
            .into_iter()
            .map(|(number, state, is_old, count)| DeliveriesAt {
                // PostgreSQL counts them from 1.
                interval: usize::try_from(number - 1).unwrap_or(0),
                state,
                is_old,
                deliveries: count.unsigned_abs(),
            });
        Ok(DeliveriesOverTime {
            counts: counts.collect(),
            is_complete: counted < COUNTED_MAX,
        })
    }

    /// An organization's delivery that is under way for longest, and when its event matched.
    pub async fn oldest_undelivered(
        &self,
        org: OrgId,
    ) -> Result<Option<(DeliveryId, Timestamp)>, Error> {
        // One look at the index for each state: over several at once it is not in order of time.
        let row: Option<(Uuid, OffsetDateTime)> = sqlx::query_as(
            "(SELECT id, matched_at FROM deliveries
              WHERE org_id = $1 AND state = 'pending' AND state <> 'delivered' ORDER BY id LIMIT 1)
             UNION ALL
             (SELECT id, matched_at FROM deliveries
              WHERE org_id = $1 AND state = 'scheduled' AND state <> 'delivered' ORDER BY id LIMIT 1)
             UNION ALL
             (SELECT id, matched_at FROM deliveries
              WHERE org_id = $1 AND state = 'held' AND state <> 'delivered' ORDER BY id LIMIT 1)
             ORDER BY id LIMIT 1",
        )
        .bind(org.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|(id, at)| (DeliveryId::from_uuid(id), from_database(at))))
    }
}
