//! How many events pass a filter: in all, with each value of a field, and over time. Over the whole time that is asked
//! for, however many there are.
//!
//! There are two ways to count. The counts that the indexer keeps ([`kept`]) answer for any number of events, but each
//! is about one field: they serve where nothing but a time is asked for, or the usual result, and what whole minutes,
//! hours and days leave over at the ends ([`split`]) is read. Any other filter is counted event by event ([`rows`]), after the kept counts
//! have said how many that will be ([`cost`]). Where it would be too many, the newest are counted, as many as one
//! request may cost, the rest is estimated, and the answer says both. See docs/adr/0031.
//!
//! What is exact equals what the list has at the same moment: both read the same table, and the kept counts are
//! written in the transaction that writes the events.

mod bars;
mod cost;
mod kept;
mod rows;
mod split;
mod tally;

use std::collections::BTreeMap;

use bars::Bars;
use cost::Cover;
use domain::{Day, EventId, OrgId, Timestamp, event::Filter};
use kept::Kept;
use split::{Ends, Span};
use sqlx::PgConnection;
use tally::Tally;
use uuid::Uuid;

use crate::{
    Error, Store,
    events::{CountedBy, Grain, skip_scan},
    partitions::{self, Table},
};

/// One snapshot for all of it, so that its numbers agree. PostgreSQL chooses how to read, and may read with several
/// workers: nothing here has an order to keep. What takes longer than 2 s is tried again for less.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off; SET LOCAL statement_timeout = '2s'";

/// How many events one request reads at most. A bound on its time: on two cores PostgreSQL groups a million cached rows in
/// 0.8 to 1.3 s.
const ROWS_MAX: u64 = 1_500_000;
/// What is left of it after the time was up once: a cold cache, or a machine that is busy.
const SECOND_TRY_SHARE: u64 = 8;
/// How long the minutes of a time are surely all there: they are kept for a day more.
const MINUTES_TRUSTED_MS: i64 = 6 * 24 * 60 * 60 * 1000;

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFacets {
    /// Where the time begins that was asked for, or the oldest event if none was; `None` if there are no events.
    pub from: Option<Timestamp>,
    /// Where it ends.
    pub to: Timestamp,
    /// From here on everything was counted.
    pub counted_from: Option<Timestamp>,
    pub counted: u64,
    /// About how many there are in all of the time; as many as were counted, if those are all.
    pub estimate: u64,
    /// Whether all of the time was counted.
    pub is_complete: bool,
    /// Whether every number is exact.
    pub is_exact: bool,
    /// The values with the most events, most first.
    pub values: BTreeMap<CountedBy, Vec<(String, u64)>>,
    pub interval_ms: i64,
    /// One after the other, oldest first.
    pub bars: Vec<Bar>,
}

/// One interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    pub at: Timestamp,
    pub total: u64,
    /// By those results that are among the values.
    pub by_result: BTreeMap<String, u64>,
}

impl Store {
    /// Counts an organization's events that pass a filter.
    pub async fn event_facets(
        &self,
        org: OrgId,
        filter: &Filter,
        now: Timestamp,
    ) -> Result<EventFacets, Error> {
        self.event_facets_within(org, filter, now, ROWS_MAX).await
    }

    /// The same, reading no more than so many events where it can be helped.
    pub async fn event_facets_within(
        &self,
        org: OrgId,
        filter: &Filter,
        now: Timestamp,
        rows_most: u64,
    ) -> Result<EventFacets, Error> {
        let filter = &filter.folded();
        let question = Question { org, filter, now };
        match self.count_once(question, rows_most, Ends::Read).await {
            Err(Error::TookTooLong) => {
                let less = rows_most / SECOND_TRY_SHARE;
                self.count_once(question, less, Ends::Widened).await
            }
            done => done,
        }
    }

    async fn count_once(
        &self,
        question: Question<'_>,
        rows_most: u64,
        ends: Ends,
    ) -> Result<EventFacets, Error> {
        let mut snapshot = self.pool.begin_with(BEGIN).await?;
        let days = partitions::days(&mut snapshot, Table::AuditEvents).await?;
        let from = match question.filter.from {
            Some(from) => Some(from),
            None => oldest(&mut snapshot, question.org).await?,
        };
        let from = from.map(|from| from.max(Timestamp::default()));
        let Some(time) = from.and_then(|from| Time::of(question, from, &days)) else {
            return Ok(EventFacets::nothing(question, from));
        };
        let are_kept = skip_scan::counts_are_kept(&mut snapshot).await?;
        let cover = if are_kept {
            cost::cover(&mut snapshot, question, &time, rows_most, ends).await?
        } else {
            Cover::all(time.counted)
        };
        let mut bars = Bars::over(time.axis, bars::SHORTEST_MS);
        if let Some(kept) = Kept::of(question.filter).filter(|_| are_kept && cover.can_subtract) {
            let shortest = time.kept_interval();
            if bars.interval < shortest && !cover.is_all {
                bars = Bars::over(time.axis, shortest);
            }
            if bars.interval >= shortest {
                let org = question.org;
                let tally = kept::count(&mut snapshot, org, kept, &time, &bars, ends).await?;
                snapshot.rollback().await?;
                return Ok(EventFacets::new(&time, &bars, tally));
            }
        }
        let cover = cover.starting_with_a_bar(&bars, time.counted);
        let tally = rows::count(&mut snapshot, question, &cover.spans, &bars).await?;
        snapshot.rollback().await?;
        Ok(EventFacets::new(&time, &bars, tally).of_part(&cover))
    }
}

/// Whose events, which, and when it is asked.
#[derive(Clone, Copy)]
struct Question<'q> {
    org: OrgId,
    filter: &'q Filter,
    now: Timestamp,
}

/// The time that is asked for.
struct Time {
    /// As it is shown.
    axis: Span,
    /// As it is counted: without an end in the filter up to the last day there is, because clocks differ.
    counted: Span,
    /// The days that there are, as pieces of time, oldest first.
    days: Vec<Span>,
    /// From here on minutes are kept.
    minutes_from: i64,
}

impl Time {
    /// The time from here on; `None` if no event can be in it.
    fn of(question: Question<'_>, from: Timestamp, days: &[Day]) -> Option<Self> {
        let days = split::runs(days);
        let last = days.last().copied()?;
        let low = from.unix_millis();
        let high = question.filter.to.map(Timestamp::unix_millis);
        let shown_to = high.unwrap_or(question.now.unix_millis());
        if high.is_some_and(|high| high <= low) {
            return None;
        }
        let counted_to = high.unwrap_or(last.high).min(last.high);
        Some(Self {
            axis: Span {
                low,
                high: shown_to.max(low + 1),
            },
            counted: Span {
                low,
                high: counted_to.max(low),
            },
            days,
            minutes_from: question.now.unix_millis() - MINUTES_TRUSTED_MS,
        })
    }

    /// The shortest interval that is kept for all of it.
    fn kept_interval(&self) -> i64 {
        if self.counted.low >= self.minutes_from {
            Grain::Minute.millis()
        } else {
            Grain::Hour.millis()
        }
    }
}

/// The time of an organization's oldest event.
async fn oldest(connection: &mut PgConnection, org: OrgId) -> Result<Option<Timestamp>, Error> {
    // The days are in order of their ids, so PostgreSQL reads the first that has one, and no other.
    let id: Option<Uuid> =
        sqlx::query_scalar("SELECT id FROM audit_events WHERE org_id = $1 ORDER BY id LIMIT 1")
            .bind(org.uuid())
            .fetch_optional(connection)
            .await?;
    Ok(id.map(|id| EventId::from_uuid(id).time()))
}

impl EventFacets {
    /// No events, with the values that are always named, and with bars if there is a time for them.
    fn nothing(question: Question<'_>, from: Option<Timestamp>) -> Self {
        let to = question.filter.to.unwrap_or(question.now);
        let axis = from.filter(|from| *from < to).map(|from| Span {
            low: from.unix_millis(),
            high: to.unix_millis(),
        });
        let bars = axis.map(|axis| Bars::over(axis, bars::SHORTEST_MS));
        let starts = bars.iter().flat_map(Bars::starts);
        Self {
            from,
            to,
            counted_from: from,
            counted: 0,
            estimate: 0,
            is_complete: true,
            is_exact: true,
            values: Tally::nothing().values,
            interval_ms: bars.map_or(bars::SHORTEST_MS, |bars| bars.interval),
            bars: starts.map(|at| Bar::new((at, BTreeMap::new()))).collect(),
        }
    }

    fn new(time: &Time, bars: &Bars, tally: Tally) -> Self {
        let from = Some(Timestamp::from_unix_millis(time.axis.low));
        let bars_of: Vec<Bar> = bars.starts().zip(tally.bars).map(Bar::new).collect();
        let counted = bars_of.iter().map(|bar| bar.total).sum();
        Self {
            from,
            to: Timestamp::from_unix_millis(time.axis.high),
            counted_from: from,
            counted,
            estimate: counted,
            is_complete: true,
            is_exact: tally.is_exact,
            values: tally.values,
            interval_ms: bars.interval,
            bars: bars_of,
        }
    }

    /// Says so if only a part was counted, and how many there are then, about.
    fn of_part(self, cover: &Cover) -> Self {
        if cover.is_all {
            return self;
        }
        Self {
            counted_from: Some(Timestamp::from_unix_millis(cover.from)),
            estimate: cover.scaled(self.counted),
            is_complete: false,
            is_exact: false,
            ..self
        }
    }
}

impl Bar {
    fn new((at, counts): (Timestamp, BTreeMap<Option<String>, u64>)) -> Self {
        Self {
            at,
            total: counts.values().sum(),
            by_result: counts
                .into_iter()
                .filter_map(|(result, events)| Some((result?, events)))
                .collect(),
        }
    }
}
