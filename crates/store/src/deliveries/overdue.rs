//! What is under way, of all organizations, and what should have been sent by now.

use domain::{DeliveryId, EndpointId, OrgId, Timestamp};
use sqlx::types::time::OffsetDateTime;
use uuid::Uuid;

use super::balance::Reconciling;
use crate::{
    Error,
    times::{from_database, to_database},
};

/// How many are counted of a state; beyond that "very many" is what matters.
const COUNTED_MAX: i64 = 2_000_000;
/// How many overdue deliveries are looked at, the longest overdue first.
const OVERDUE_MAX: i64 = 100_000;

/// The deliveries to one endpoint that are overdue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    pub org: OrgId,
    pub endpoint: EndpointId,
    pub deliveries: u64,
    /// One of them, and since when the first of all is due.
    pub example: DeliveryId,
    pub due_at: Timestamp,
}

impl Reconciling {
    /// How many deliveries are in each state that is not the last.
    pub async fn under_way(&mut self) -> Result<Vec<(String, u64)>, Error> {
        let mut counts = Vec::new();
        for state in ["pending", "scheduled", "held"] {
            let count: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM (SELECT 1 FROM deliveries
                     WHERE state = $1 AND state IN ('pending', 'scheduled', 'held') LIMIT $2) AS counted",
            )
            .bind(state)
            .bind(COUNTED_MAX)
            .fetch_one(self.connection())
            .await?;
            counts.push((state.to_owned(), count.unsigned_abs()));
        }
        Ok(counts)
    }

    /// What was due before then and has not been attempted, by endpoint. Of an organization that is being deleted nothing
    /// will be.
    pub async fn overdue(&mut self, before: Timestamp) -> Result<Vec<Overdue>, Error> {
        type Row = (Uuid, String, i64, Uuid, OffsetDateTime);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT org_id, url, count(*), (array_agg(id ORDER BY due))[1], min(due)
             FROM (SELECT org_id, url, id, coalesce(next_at, matched_at) AS due FROM deliveries
                   WHERE state IN ('pending', 'scheduled') AND coalesce(next_at, matched_at) < $1
                     AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.org_id = deliveries.org_id)
                   ORDER BY coalesce(next_at, matched_at) LIMIT $2) AS late
             GROUP BY org_id, url ORDER BY min(due)",
        )
        .bind(to_database(before))
        .bind(OVERDUE_MAX)
        .fetch_all(self.connection())
        .await?;
        let overdue = |(org, url, deliveries, example, due): Row| {
            let org = OrgId::from_uuid(org);
            Overdue {
                org,
                endpoint: EndpointId::of(org, &url),
                deliveries: deliveries.unsigned_abs(),
                example: DeliveryId::from_uuid(example),
                due_at: from_database(due),
            }
        };
        Ok(rows.into_iter().map(overdue).collect())
    }
}
