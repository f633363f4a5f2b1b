//! What is in an export: fixed when it is asked for, so that it can be read at leisure.

use domain::{Day, EventId, OrgId, Timestamp, event::Filter};
use store::{Store, events::export::Position};
use uuid::Uuid;

const FIRST: EventId = EventId::from_uuid(Uuid::nil());
const LAST: EventId = EventId::from_uuid(Uuid::max());

/// What an export has: an organization's events that the filter asks for, from `newest` down to
/// `oldest`.
#[derive(Clone, Debug)]
pub struct Plan {
    pub org: OrgId,
    pub filter: Filter,
    /// `None`: there is nothing.
    pub range: Option<Range>,
    /// The event that says that this export was asked for.
    pub without: Option<EventId>,
}

/// Ids, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub newest: EventId,
    pub oldest: EventId,
}

impl Plan {
    /// Of what the store holds now, and the archive.
    pub async fn make(store: &Store, org: OrgId, filter: Filter) -> Result<Self, store::Error> {
        // Its query may have times, too.
        let Filter { from, to, .. } = filter.folded();
        let from = from.map_or(FIRST, EventId::first_at);
        let below = to.map_or(LAST, EventId::first_at);
        // In this order: a day is noted as archived before it leaves the database.
        let live = store.event_bounds(org, from, below).await?;
        let mut range = live.map(|(newest, oldest)| Range { newest, oldest });
        let days = (Day::of(from.time()), Day::of(before(below).time()));
        for file in store.archived_files(days.0, days.1).await? {
            // Which of its events are the organization's is only known once the file is read.
            let newest = before(file.day.next().first_id().min(below));
            let oldest = file.day.first_id().max(from);
            range = Some(range.map_or(Range { newest, oldest }, |range| Range {
                newest: range.newest.max(newest),
                oldest: range.oldest.min(oldest),
            }));
        }
        Ok(Self {
            org,
            filter,
            range,
            without: None,
        })
    }

    /// The part of one day.
    pub fn of_day(&self, day: Day) -> Self {
        let within = self.range.map(|range| Range {
            newest: range.newest.min(before(day.next().first_id())),
            oldest: range.oldest.max(day.first_id()),
        });
        Self {
            range: within.filter(|within| within.oldest <= within.newest),
            ..self.clone()
        }
    }

    /// The part from a moment on.
    pub fn since(&self, at: Timestamp) -> Self {
        let within = self.range.map(|range| Range {
            oldest: range.oldest.max(EventId::first_at(at)),
            ..range
        });
        Self {
            range: within.filter(|within| within.oldest <= within.newest),
            ..self.clone()
        }
    }

    /// Everything in it is below this.
    pub fn above(&self) -> EventId {
        self.range.map_or(FIRST, |range| after(range.newest))
    }

    /// The newest day that has something below an id: one day at a time, so that a query meets one
    /// partition, however long the history. `None`: there is no more.
    pub fn day_below(&self, below: EventId) -> Option<Position> {
        let oldest = self.range?.oldest;
        if below <= oldest {
            return None;
        }
        let day = Day::of(before(below).time());
        let first = day.first_id().max(oldest);
        Some(Position::new(first, below, self.without))
    }
}

impl Range {
    /// How much of it is behind a position, from 0 to 1: of the time in which the events occurred, not
    /// of their number.
    pub fn progress(self, below: EventId) -> f64 {
        let length = self.newest.time().since(self.oldest.time()).as_secs_f64();
        let done = self.newest.time().since(below.time()).as_secs_f64();
        if length > 0.0 {
            (done / length).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The largest id below this one.
fn before(id: EventId) -> EventId {
    EventId::from_uuid(Uuid::from_u128(id.uuid().as_u128().saturating_sub(1)))
}

/// The smallest id above this one.
fn after(id: EventId) -> EventId {
    EventId::from_uuid(Uuid::from_u128(id.uuid().as_u128().saturating_add(1)))
}
