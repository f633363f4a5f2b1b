//! Finds the deliveries of a rule that are to be sent again.

use std::time::Duration;

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp, delivery::LOST_AFTER};
use sqlx::{Postgres, QueryBuilder};
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

/// How much later than it was matched a delivery's event can have occurred: agents' clocks may be 5 minutes ahead,
/// and the rest is for those of our nodes. How much earlier is not bounded, as events may arrive late by as long
/// as they are kept.
const AHEAD_MAX: Duration = Duration::from_hours(24);

impl Store {
    /// How many there are in each state.
    pub async fn count_recoverable(
        &self,
        org: OrgId,
        wanted: &Recoverable,
    ) -> Result<Vec<(String, u64)>, Error> {
        let mut query = QueryBuilder::new("SELECT state, count(*) FROM deliveries WHERE org_id = ");
        query.push_bind(org.uuid());
        add(&mut query, wanted);
        query.push(" GROUP BY state ORDER BY state");
        let rows: Vec<(String, i64)> = query.build_query_as().fetch_all(&self.pool).await?;
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
        let mut query = QueryBuilder::new("SELECT id FROM deliveries WHERE org_id = ");
        query.push_bind(org.uuid());
        add(&mut query, wanted);
        query.push(" AND id > ").push_bind(after.uuid());
        query
            .push(" ORDER BY id LIMIT ")
            .push_bind(i64::from(limit));
        Ok(query.build_query_scalar().fetch_all(&self.pool).await?)
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

/// What is held by the breaker, at the receiver's wish or until its endpoint is verified goes on by itself: it is
/// in the queue, and sent again it would be sent twice. So would be what is on its way, unless it is lost.
fn add(query: &mut QueryBuilder<Postgres>, wanted: &Recoverable) {
    query.push(" AND rule_id = ").push_bind(wanted.rule.uuid());
    query
        .push(" AND matched_at >= ")
        .push_bind(to_database(wanted.since));
    query
        .push(" AND matched_at < ")
        .push_bind(to_database(wanted.until));
    let last = EventId::first_at(wanted.until.plus(AHEAD_MAX));
    query.push(" AND id < ").push_bind(last.uuid());
    query
        .push(" AND state = ANY (")
        .push_bind(wanted.states.clone());
    query.push(
        ") AND (state <> 'held' OR reason IS DISTINCT FROM 'breaker' AND reason IS DISTINCT FROM 'retry_after'
              AND reason IS DISTINCT FROM 'unverified')
          AND (state NOT IN ('pending', 'scheduled')
               OR coalesce(next_at, matched_at) < now() - interval '1 second' * ",
    );
    query.push_bind(LOST_AFTER.as_secs_f64()).push(")");
    // Said so that PostgreSQL sees that the index of those that are not delivered has them all.
    if wanted.states.iter().all(|state| state != "delivered") {
        query.push(" AND state <> 'delivered'");
    }
}
