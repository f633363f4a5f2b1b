//! Lists deliveries by filters, newest event first.

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp, query::Query};
use sqlx::{Postgres, QueryBuilder};

use super::{
    Delivery,
    read::{DeliveryDbRow, delivery_columns},
    terms::push_terms,
};
use crate::{Error, Store, page::Page};

/// Which deliveries: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeliveryFilter {
    /// From the time of the event on, and before.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub rule: Option<RuleId>,
    pub event: Option<EventId>,
    /// One of these; none: any.
    pub states: Vec<String>,
    pub reason: Option<String>,
    pub event_type: Option<String>,
    pub url: Option<String>,
    pub cause: Option<String>,
}

impl Store {
    /// An organization's deliveries that pass a filter and a query, newest event first, from below `before` on. Rules, events and states but
    /// `delivered` have an index; what else is asked for is looked for among those, as long as a statement may
    /// take.
    pub async fn list_deliveries(
        &self,
        org: OrgId,
        filter: &DeliveryFilter,
        query: Option<&Query>,
        before: Option<DeliveryId>,
        limit: u32,
    ) -> Result<Page<Delivery, DeliveryId>, Error> {
        let mut sql = QueryBuilder::new(concat!(
            "SELECT ",
            delivery_columns!(),
            " FROM deliveries WHERE org_id = "
        ));
        sql.push_bind(org.uuid());
        add(&mut sql, filter);
        if let Some(query) = query {
            push_terms(&mut sql, query);
        }
        if let Some(before) = before {
            sql.push(" AND id < ").push_bind(before.uuid());
        }
        sql.push(" ORDER BY id DESC LIMIT ");
        sql.push_bind(i64::from(limit) + 1);
        let rows: Vec<DeliveryDbRow> = sql.build_query_as().fetch_all(&self.pool).await?;
        let deliveries = rows.into_iter().map(Delivery::from).collect();
        Ok(Page::from_rows(deliveries, limit, |delivery: &Delivery| {
            delivery.id
        }))
    }
}

fn add(query: &mut QueryBuilder<Postgres>, filter: &DeliveryFilter) {
    if let Some(from) = filter.from {
        query
            .push(" AND id >= ")
            .push_bind(EventId::first_at(from).uuid());
    }
    if let Some(to) = filter.to {
        query
            .push(" AND id < ")
            .push_bind(EventId::first_at(to).uuid());
    }
    if let Some(rule) = filter.rule {
        query.push(" AND rule_id = ").push_bind(rule.uuid());
    }
    if let Some(event) = filter.event {
        // A match has its event's time in its id; the few others have an index.
        let time = event.time();
        let next = Timestamp::from_unix_millis(time.unix_millis() + 1);
        query.push(" AND event_id = ").push_bind(event.uuid());
        query.push(" AND (cause <> 'match' OR (id >= ");
        query.push_bind(EventId::first_at(time).uuid());
        query.push(" AND id < ");
        query.push_bind(EventId::first_at(next).uuid()).push("))");
    }
    if !filter.states.is_empty() {
        query
            .push(" AND state = ANY (")
            .push_bind(filter.states.clone())
            .push(")");
        // Said so that PostgreSQL sees that the index of those that are not delivered has them all.
        if filter.states.iter().all(|state| state != "delivered") {
            query.push(" AND state <> 'delivered'");
        }
    }
    let texts = [
        (" AND reason = ", &filter.reason),
        (" AND event_type = ", &filter.event_type),
        (" AND url = ", &filter.url),
        (" AND cause = ", &filter.cause),
    ];
    for (condition, value) in texts {
        if let Some(value) = value {
            query.push(condition).push_bind(value.clone());
        }
    }
}
