//! Walks through the days for one page of events, until it is full or has cost enough.

use std::{marker::PhantomData, time::Duration};

use domain::{Day, EventId, OrgId, Timestamp};
use sqlx::PgConnection;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    index_scan::{Hit, Look},
    list::{Budget, EventsQuery, Found, Order},
    skip_scan::{Possible, Sparse},
    terms,
};
use crate::{
    Error,
    partitions::{self, Table},
};

/// The part of a page's budget that is spent before the counts are asked where there are events. What
/// is not rare is found by then.
const FIRST_LOOK_SHARE: u32 = 16;
/// The same where bodies are read as JSON: 312 of the largest events (32 KiB) take 150 ms, and larger looks follow.
const DEAR_FIRST_LOOK_SHARE: u32 = 64;
/// How many days a look may touch, each for every value that is searched for by an index: planning
/// takes longer the more there are.
const DAYS_MOST: usize = 16;
const SCANS_MOST: usize = 64;
/// A look that takes so long is not followed by a larger one: twice that is well within what one may take.
const DEAR_LOOK: Duration = Duration::from_millis(500);

/// The ids from `low` on and below `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub low: u128,
    pub high: u128,
}

/// Finds one page. What the walk has not reached is always one stretch, `ahead`: every look and every
/// skip takes a piece off the end where the walk is.
pub(super) async fn walk<H: Hit>(
    connection: &mut PgConnection,
    org: OrgId,
    wanted: &EventsQuery,
    budget: Budget,
) -> Result<Found<H>, Error> {
    let days = partitions::days(connection, Table::AuditEvents).await?;
    let mut sparse = Sparse::new(org, wanted, &days);
    let mut ahead = Stretch::wanted(wanted);
    let mut rows: Vec<H> = Vec::new();
    let limit = wanted.limit as usize;
    let (mut events_left, mut bytes_left) = (budget.events, budget.bytes);
    let body_cost = terms::body_cost(&wanted.filter);
    let first_look = match body_cost {
        0..=terms::TEXT_COST => FIRST_LOOK_SHARE,
        _ => DEAR_FIRST_LOOK_SHARE,
    };
    let first_look = (budget.events / first_look).max(1);
    let (mut days_at_once, mut events_at_once) = (1, first_look);
    let mut ask_the_counts = false;
    let began = Instant::now();
    // Looks grow while they are cheap, so that one that is dear is not the largest.
    let grows = sparse.is_some() || body_cost > 0;
    for number in 0..budget.looks {
        let mut bucket = None;
        if ask_the_counts {
            match sparse.next(connection, ahead).await? {
                Possible::Nowhere => return Ok(Found::all(rows)),
                Possible::In(next) if next.skips_into(ahead, wanted.order) => {
                    ahead = ahead.starting_in(next, wanted.order);
                    bucket = Some(next);
                    events_at_once = first_look;
                }
                Possible::In(_) | Possible::Anywhere => {}
            }
        }
        let Some(days_ahead) = ahead.next_days(&days, wanted.order, days_at_once) else {
            return Ok(Found::all(rows));
        };
        let is_late = number > 0 && began.elapsed() > budget.time;
        if events_left == 0 || is_late {
            break;
        }
        let look = Look {
            org,
            filter: &wanted.filter,
            order: wanted.order,
            within: bucket.map_or(days_ahead, |bucket| days_ahead.part_in(bucket)),
            events_most: match bucket {
                None if grows => events_left.min(events_at_once),
                _ => events_left,
            },
            hits_most: wanted.limit + 1 - u32::try_from(rows.len()).unwrap_or(wanted.limit),
            bytes_most: bytes_left,
            shown: PhantomData,
        };
        let look_began = Instant::now();
        let looked = look.take(connection).await?;
        ask_the_counts = looked.hits.is_empty();
        rows.extend(looked.hits);
        bytes_left = bytes_left.saturating_sub(looked.bytes);
        if rows.len() > limit || bytes_left == 0 {
            rows.truncate(limit);
            return Ok(Found {
                next: rows.last().map(Hit::id),
                rows,
                searched_to: None,
            });
        }
        events_left = events_left.saturating_sub(looked.events);
        if look_began.elapsed() < DEAR_LOOK {
            events_at_once = events_at_once.saturating_mul(2);
        }
        ahead = match looked.last {
            Some(last) if looked.events == look.events_most => ahead.beyond(last, wanted.order),
            _ => {
                days_at_once = (days_at_once * 2).min(look.days_most());
                ahead.without(look.within, wanted.order)
            }
        };
    }
    if ahead.next_days(&days, wanted.order, 1).is_none() {
        return Ok(Found::all(rows));
    }
    let reached = ahead.entered_after(wanted.order);
    Ok(Found {
        searched_to: (rows.len() < limit).then(|| reached.time()),
        rows,
        next: Some(reached),
    })
}

impl<H> Found<H> {
    fn all(rows: Vec<H>) -> Self {
        Self {
            rows,
            next: None,
            searched_to: None,
        }
    }
}

impl<H: Hit> Look<'_, H> {
    fn days_most(&self) -> usize {
        DAYS_MOST.min(SCANS_MOST / self.scans_per_day()).max(1)
    }
}

impl Stretch {
    /// What was asked for and not yet listed.
    pub(super) fn wanted(wanted: &EventsQuery) -> Self {
        let first_at = |at: Timestamp| EventId::first_at(at).uuid().as_u128();
        let whole = Self {
            low: wanted.filter.from.map_or(0, first_at),
            high: wanted.filter.to.map_or(u128::MAX, first_at),
        };
        match wanted.after {
            Some(after) => whole.beyond(after.uuid(), wanted.order),
            None => whole,
        }
    }

    fn beyond(self, last: Uuid, order: Order) -> Self {
        let last = last.as_u128();
        match order {
            Order::NewestFirst => Self {
                high: last.min(self.high),
                ..self
            },
            Order::OldestFirst => Self {
                low: last.saturating_add(1).max(self.low),
                ..self
            },
        }
    }

    /// What is left behind `done`, at which it starts.
    pub(super) fn without(self, done: Self, order: Order) -> Self {
        match order {
            Order::NewestFirst => Self {
                high: done.low,
                ..self
            },
            Order::OldestFirst => Self {
                low: done.high,
                ..self
            },
        }
    }

    /// The part of it from where `other` starts.
    fn starting_in(self, other: Self, order: Order) -> Self {
        match order {
            Order::NewestFirst => Self {
                high: other.high.min(self.high),
                ..self
            },
            Order::OldestFirst => Self {
                low: other.low.max(self.low),
                ..self
            },
        }
    }

    /// Whether it starts further into `ahead` than that does.
    fn skips_into(self, ahead: Self, order: Order) -> bool {
        match order {
            Order::NewestFirst => self.high < ahead.high,
            Order::OldestFirst => self.low > ahead.low,
        }
    }

    fn part_in(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    /// The id to go on after: in it, the next one is the first.
    fn entered_after(self, order: Order) -> EventId {
        EventId::from_uuid(Uuid::from_u128(match order {
            Order::NewestFirst => self.high,
            Order::OldestFirst => self.low.saturating_sub(1),
        }))
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.low.max(other.low) < self.high.min(other.high)
    }

    /// The part that lies in the next days that exist; `None` if there are none.
    fn next_days(self, days: &[Day], order: Order, most: usize) -> Option<Self> {
        let met = days.iter().map(|day| Self::day(*day));
        let met = met.filter(|day| self.meets(*day));
        let met: Vec<Self> = match order {
            Order::NewestFirst => met.rev().take(most).collect(),
            Order::OldestFirst => met.take(most).collect(),
        };
        let low = met.iter().map(|day| day.low).min()?;
        let high = met.iter().map(|day| day.high).max()?;
        Some(self.part_in(Self { low, high }))
    }

    pub(super) fn day(day: Day) -> Self {
        Self {
            low: day.first_id().uuid().as_u128(),
            high: day.next().first_id().uuid().as_u128(),
        }
    }
}
