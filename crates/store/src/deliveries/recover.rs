//! Finds the deliveries of a rule that are to be sent again.

use domain::{DeliveryId, OrgId, RuleId, Timestamp};
use uuid::Uuid;

use super::{
    Delivery,
    read::{DeliveryDbRow, delivery_columns},
};
use crate::{Error, Store, times::to_database};

/// Deliveries of a rule that were matched in a time and are in one of some states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recoverable {
    pub rule: RuleId,
    /// From then on, and before.
    pub since: Timestamp,
    pub until: Timestamp,
    pub states: Vec<String>,
}

/// What is held by the breaker or at the receiver's wish goes on by itself: it is in the queue, and sent again
/// it would be sent twice.
macro_rules! is_recoverable {
    () => {
        "org_id = $1 AND rule_id = $2 AND matched_at >= $3 AND matched_at < $4 AND state = ANY ($5)
         AND (state <> 'held' OR reason IS DISTINCT FROM 'breaker' AND reason IS DISTINCT FROM 'retry_after')"
    };
}

impl Store {
    /// How many there are in each state.
    pub async fn count_recoverable(
        &self,
        org: OrgId,
        wanted: &Recoverable,
    ) -> Result<Vec<(String, u64)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(concat!(
            "SELECT state, count(*) FROM deliveries WHERE ",
            is_recoverable!(),
            " GROUP BY state ORDER BY state"
        ))
        .bind(org.uuid())
        .bind(wanted.rule.uuid())
        .bind(to_database(wanted.since))
        .bind(to_database(wanted.until))
        .bind(&wanted.states)
        .fetch_all(&self.pool)
        .await?;
        let counts = rows.into_iter();
        Ok(counts
            .map(|(state, count)| (state, count.unsigned_abs()))
            .collect())
    }

    /// The next of them, oldest event first.
    pub(crate) async fn next_recoverable(
        &self,
        org: OrgId,
        wanted: &Recoverable,
        after: DeliveryId,
        limit: u32,
    ) -> Result<Vec<Uuid>, Error> {
        Ok(sqlx::query_scalar(concat!(
            "SELECT id FROM deliveries WHERE ",
            is_recoverable!(),
            " AND id > $6 ORDER BY id LIMIT $7"
        ))
        .bind(org.uuid())
        .bind(wanted.rule.uuid())
        .bind(to_database(wanted.since))
        .bind(to_database(wanted.until))
        .bind(&wanted.states)
        .bind(after.uuid())
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?)
    }

    /// The deliveries of these ids that are there.
    pub async fn deliveries(&self, org: OrgId, ids: &[DeliveryId]) -> Result<Vec<Delivery>, Error> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        // The bounds let PostgreSQL leave out all other days.
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
            return Ok(Vec::new());
        };
        let rows: Vec<DeliveryDbRow> = sqlx::query_as(concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM deliveries WHERE org_id = $1 AND id = ANY ($2) AND id BETWEEN $3 AND $4 ORDER BY id"
        ))
        .bind(org.uuid())
        .bind(&ids)
        .bind(first)
        .bind(last)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Delivery::from).collect())
    }
}
