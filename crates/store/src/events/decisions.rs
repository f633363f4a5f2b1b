//! The newest decisions of a time: what they came to, and how long they took.

use std::time::Duration;

use domain::{EventId, OrgId, event::Filter};
use sqlx::{Row as _, postgres::PgRow};

use super::{
    index_scan::Hit,
    list::{Budget, EventsQuery, Order},
};
use crate::{Error, Store};

/// How many decisions are looked at. What a decision took is in its text, which is read for it.
const BUDGET: Budget = Budget {
    events: 10_000,
    looks: 40,
    bytes: 1024 * 1024,
    time: Duration::from_secs(2),
};

/// A decision as the trail has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionMade {
    pub id: EventId,
    /// One of the results that were asked for.
    pub result: String,
    /// In microseconds; `None` if it was recorded before that was.
    pub took_us: Option<u32>,
}

/// The newest events that were asked for, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest<E> {
    pub events: Vec<E>,
    /// Whether there are no others.
    pub is_complete: bool,
}

impl Store {
    /// The newest of an organization's events that pass a filter, which should ask for decisions by their
    /// results: those have an index.
    pub async fn newest_decisions(
        &self,
        org: OrgId,
        filter: Filter,
    ) -> Result<Newest<DecisionMade>, Error> {
        let query = EventsQuery {
            filter,
            order: Order::NewestFirst,
            after: None,
            limit: BUDGET.events,
        };
        let found = self.walk_events(org, &query, BUDGET).await?;
        Ok(Newest {
            events: found.rows,
            is_complete: found.next.is_none(),
        })
    }
}

impl Hit for DecisionMade {
    /// The time is the first member of `metadata`, as the server writes it. In a text of JSON every quotation mark
    /// has a backslash in front, so nothing that an agent sends as a text looks like it.
    const SHOWN: &'static str =
        r#"ARRAY[result, left(split_part(body, '"metadata":{"took_us":', 2), 10)]"#;

    fn read(id: EventId, row: &PgRow) -> Result<Self, sqlx::Error> {
        let [result, took_us]: [Option<String>; 2] = row.try_get("shown")?;
        let took_us = took_us.unwrap_or_default();
        let digits = took_us.split(|one: char| !one.is_ascii_digit()).next();
        Ok(Self {
            id,
            result: result.unwrap_or_default(),
            took_us: digits.and_then(|digits| digits.parse().ok()),
        })
    }

    fn id(&self) -> EventId {
        self.id
    }

    fn bytes(&self) -> usize {
        self.result.len()
    }
}
