//! What people filter events by, read of the newest that are asked for, so that they can be counted.

use std::time::Duration;

use domain::{EventId, OrgId, event::Filter};
use sqlx::{Row as _, postgres::PgRow};

use super::{
    index_scan::Hit,
    list::{Budget, EventsQuery, Order},
};
use crate::{Error, Store};

/// How much is looked at: as many events as a page of the list looks at, and their fields, which are bounded at
/// the door, at their longest.
const BUDGET: Budget = Budget {
    events: 20_000,
    looks: 40,
    bytes: 8 * 1024 * 1024,
    time: Duration::from_secs(2),
};

/// The fields of an event that have few values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFields {
    pub id: EventId,
    pub event_type: String,
    pub result: String,
    pub severity: Option<String>,
    pub agent_id: String,
    pub action: String,
}

/// The newest events that were asked for, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest<E> {
    pub events: Vec<E>,
    /// Whether there are no others.
    pub is_complete: bool,
}

impl Store {
    /// The fields of an organization's newest events that pass a filter, as many as one request may cost.
    pub async fn newest_event_fields(
        &self,
        org: OrgId,
        filter: Filter,
    ) -> Result<Newest<EventFields>, Error> {
        self.newest_events(org, filter, BUDGET).await
    }

    /// The newest events that pass a filter, within a budget.
    pub(super) async fn newest_events<H: Hit>(
        &self,
        org: OrgId,
        filter: Filter,
        budget: Budget,
    ) -> Result<Newest<H>, Error> {
        let wanted = EventsQuery {
            filter,
            order: Order::NewestFirst,
            after: None,
            limit: budget.events,
        };
        let found = self.walk_events(org, &wanted, budget).await?;
        Ok(Newest {
            events: found.rows,
            is_complete: found.next.is_none(),
        })
    }
}

impl Hit for EventFields {
    const SHOWN: &'static str = "ARRAY[event_type, result, severity, agent_id, action]";

    fn read(id: EventId, row: &PgRow) -> Result<Self, sqlx::Error> {
        let fields: [Option<String>; 5] = row.try_get("shown")?;
        let [event_type, result, severity, agent_id, action] = fields;
        Ok(Self {
            id,
            event_type: event_type.unwrap_or_default(),
            result: result.unwrap_or_default(),
            severity,
            agent_id: agent_id.unwrap_or_default(),
            action: action.unwrap_or_default(),
        })
    }

    fn id(&self) -> EventId {
        self.id
    }

    fn bytes(&self) -> usize {
        let severity = self.severity.as_ref().map_or(0, String::len);
        let texts = [&self.event_type, &self.result, &self.agent_id, &self.action];
        severity + texts.into_iter().map(String::len).sum::<usize>()
    }
}
