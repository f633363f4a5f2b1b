//! Reads events: one page of those that somebody asks for, or one event.
//!
//! What a page costs does not grow with the history, whatever the filter. It is found by a [`page_scan`]
//! through the days, newest or oldest first, which takes one [`look`] after the other; each reads the
//! events of a stretch of time by one index, in order, and at most so many. Where what is asked for
//! is rare, [`sparse`] tells from the counts which stretches need no look. A page that is not full
//! when the walk has looked at enough is returned as it is, with where to go on.

use std::{marker::PhantomData, time::Duration};

use domain::{EventId, OrgId, Timestamp, event::Filter};
use sqlx::{Postgres, Row as _, Transaction, postgres::PgRow};
use uuid::Uuid;

use super::{
    index_scan::{Hit, Look},
    page_scan::{self, Stretch},
};
use crate::{Error, Store};

/// One snapshot for the whole page, so that no event is met twice. PostgreSQL is told to plan each
/// look for its own stretch, which touches few days, and to read events by an index in their order:
/// left to its estimates it may rather read a whole day and sort it. A look may take 2 s: what takes
/// longer is a text that is dear to search for, and whoever asks should narrow the search.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off;
    SET LOCAL statement_timeout = '2s'";

/// Where a page ends, give or take an event: 1,000 events of some size fit, and 1,000 of the largest
/// (32 KiB) would be more than a node can hold for many clients at a time.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// One listed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub id: EventId,
    /// The event as stored.
    pub json: String,
}

impl Hit for StoredEvent {
    const SHOWN: &'static str = "body";

    fn read(id: EventId, row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id,
            json: row.try_get("shown")?,
        })
    }

    fn id(&self) -> EventId {
        self.id
    }

    fn bytes(&self) -> usize {
        self.json.len()
    }
}

/// In which order of time events are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// Which page of which events.
#[derive(Clone, Debug)]
pub struct EventsQuery {
    pub filter: Filter,
    pub order: Order,
    /// Where the page before ended.
    pub after: Option<EventId>,
    pub limit: u32,
}

impl EventsQuery {
    fn folded(&self) -> Self {
        Self {
            filter: self.filter.folded(),
            ..self.clone()
        }
    }
}

/// How much one page may cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How many events are looked at.
    pub events: u32,
    /// How many looks are taken; each is a query, or a few.
    pub looks: u32,
    /// How many bytes of events a page has, give or take an event.
    pub bytes: usize,
    /// After this no other look is begun.
    pub time: Duration,
}

impl Default for Budget {
    /// At its dearest, when every event is searched for a text and none has it, a page took 100 to
    /// 125 ms at the median, on two cores that others used as well.
    fn default() -> Self {
        Self {
            events: 20_000,
            looks: 40,
            bytes: PAGE_BYTES,
            time: Duration::from_secs(2),
        }
    }
}

/// One page.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<H> {
    pub rows: Vec<H>,
    /// Where the next page goes on; `None` if there is nothing more.
    pub next: Option<EventId>,
    /// Up to where events were looked at, if the page is not full and there may be more.
    pub searched_to: Option<Timestamp>,
}

/// One page of events as they are stored.
pub type EventsFound = Found<StoredEvent>;

impl Store {
    /// A page of an organization's events.
    pub async fn list_events(
        &self,
        org: OrgId,
        wanted: &EventsQuery,
    ) -> Result<EventsFound, Error> {
        self.list_events_within(org, wanted, Budget::default())
            .await
    }

    /// The same for less, or for more.
    pub async fn list_events_within(
        &self,
        org: OrgId,
        wanted: &EventsQuery,
        budget: Budget,
    ) -> Result<EventsFound, Error> {
        self.walk_events(org, wanted, budget).await
    }

    /// The same, with what is read of each event.
    pub(super) async fn walk_events<H: Hit>(
        &self,
        org: OrgId,
        wanted: &EventsQuery,
        budget: Budget,
    ) -> Result<Found<H>, Error> {
        let wanted = &wanted.folded();
        let mut snapshot = self.reading().await?;
        let found = page_scan::walk(&mut snapshot, org, wanted, budget).await?;
        snapshot.rollback().await?;
        Ok(found)
    }

    /// How PostgreSQL looks through a stretch of time for the events that are wanted: its plan as
    /// JSON, with what it did. For tests, and for whoever wonders why a list takes long.
    pub async fn explain_events(
        &self,
        org: OrgId,
        wanted: &EventsQuery,
        budget: Budget,
    ) -> Result<String, Error> {
        let wanted = &wanted.folded();
        let mut snapshot = self.reading().await?;
        let look: Look<'_, StoredEvent> = Look {
            org,
            filter: &wanted.filter,
            order: wanted.order,
            within: Stretch::wanted(wanted),
            events_most: budget.events,
            hits_most: wanted.limit + 1,
            bytes_most: budget.bytes,
            shown: PhantomData,
        };
        look.explain(&mut snapshot).await
    }

    async fn reading(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin_with(BEGIN).await?)
    }

    pub async fn event(&self, org: OrgId, id: EventId) -> Result<Option<StoredEvent>, Error> {
        let row: Option<(Uuid, String)> =
            sqlx::query_as("SELECT id, body FROM audit_events WHERE org_id = $1 AND id = $2")
                .bind(org.uuid())
                .bind(id.uuid())
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(id, json)| StoredEvent {
            id: EventId::from_uuid(id),
            json,
        }))
    }

    /// The events of these ids that are there.
    pub async fn events(&self, org: OrgId, ids: &[EventId]) -> Result<Vec<StoredEvent>, Error> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        // The bounds let PostgreSQL leave out all other days.
        let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
            return Ok(Vec::new());
        };
        let rows: Vec<(Uuid, String)> = sqlx::query_as(
            "SELECT id, body FROM audit_events
             WHERE org_id = $1 AND id = ANY ($2) AND id BETWEEN $3 AND $4",
        )
        .bind(org.uuid())
        .bind(&ids)
        .bind(first)
        .bind(last)
        .fetch_all(&self.pool)
        .await?;
        let event = |(id, json)| StoredEvent {
            id: EventId::from_uuid(id),
            json,
        };
        Ok(rows.into_iter().map(event).collect())
    }
}
