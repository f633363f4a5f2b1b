//! How many events a count would read, by the counts that are kept; and which part is read if all are too many.
//!
//! A piece of time in which one of the values was never counted has no match and is not read at all. Of the others the
//! newest are read, as many as one request may cost.

use std::collections::BTreeMap;

use domain::{Timestamp, event::Filter};
use sqlx::{PgConnection, Postgres, QueryBuilder};
use time::OffsetDateTime;

use super::{
    Question, Time,
    bars::Bars,
    split::{Ends, Span},
};
use crate::{
    Error,
    events::{CountedBy, Grain, index_scan, terms},
    times::{from_database, to_database},
};

/// How many pieces of time are read apart; each is planned for itself.
const PIECES_MAX: usize = 16;
/// Up to these lengths of time minutes and hours are looked at, which are few enough then.
const BY_MINUTE_MS: i64 = 2 * 3_600_000;
const BY_HOUR_MS: i64 = 31 * 24 * 3_600_000;

/// The part of a time that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cover {
    /// The pieces of it that can have matches, oldest first.
    pub spans: Vec<Span>,
    /// From here on nothing is left out.
    pub from: i64,
    pub is_all: bool,
    /// Whether so much can be read as does not meet the only condition, to be taken from all there are.
    pub can_subtract: bool,
    slots: Vec<Slot>,
}

/// A minute, hour or day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    span: Span,
    /// How many events have to be read to count the matches in it.
    cost: u64,
    /// How many events can match at most.
    possible: u64,
}

/// Finds what can be read for so much.
pub(super) async fn cover(
    connection: &mut PgConnection,
    question: Question<'_>,
    time: &Time,
    rows_most: u64,
    ends: Ends,
) -> Result<Cover, Error> {
    // Where it took too long once, it is a run of very many.
    if ends == Ends::Read && is_of_one_run(question.filter) {
        return Ok(Cover::all(time.counted));
    }
    let length = time.counted.high - time.counted.low;
    let grain = if length <= BY_MINUTE_MS && time.counted.low >= time.minutes_from {
        Grain::Minute
    } else if length <= BY_HOUR_MS {
        Grain::Hour
    } else {
        Grain::Day
    };
    let conditions = conditions(question.filter);
    let mut counts = counts(connection, question, time.counted, grain, &conditions).await?;
    // The counts of a day that was dropped may be there for a while, and nothing is read of it.
    counts.retain(|at, _| is_there(span_of(*at, grain), &time.days));
    let slots = slots(&counts, &conditions, question.filter, grain);
    let slots = with_newest_refined(connection, question, time, slots, grain, rows_most).await?;
    let others = counts
        .values()
        .map(|(all, met)| all - met.first().unwrap_or(all).min(all));
    Ok(Cover {
        can_subtract: others.sum::<u64>() <= rows_most,
        ..Cover::newest(time.counted, slots, rows_most)
    })
}

/// The same slots, but that the newest, if it costs too much by itself, is cut into finer ones of which some can be read.
async fn with_newest_refined(
    connection: &mut PgConnection,
    question: Question<'_>,
    time: &Time,
    mut slots: Vec<Slot>,
    mut grain: Grain,
    rows_most: u64,
) -> Result<Vec<Slot>, Error> {
    let conditions = conditions(question.filter);
    while let Some(place) = too_dear(&slots, rows_most) {
        let Some(span) = slots[place].span.part_in(time.counted) else {
            break;
        };
        grain = match grain {
            Grain::Day => Grain::Hour,
            Grain::Hour if span.low >= time.minutes_from => Grain::Minute,
            Grain::Hour | Grain::Minute => break,
        };
        let counts = counts(connection, question, span, grain, &conditions).await?;
        let finer = self::slots(&counts, &conditions, question.filter, grain);
        slots.splice(place..=place, finer);
    }
    Ok(slots)
}

/// Where the newest slot is that can have matches, if it alone costs more than so much.
fn too_dear(slots: &[Slot], rows_most: u64) -> Option<usize> {
    let newest = slots.iter().rposition(|slot| slot.possible > 0)?;
    (slots[newest].cost > rows_most).then_some(newest)
}

fn span_of(at: Timestamp, grain: Grain) -> Span {
    let low = at.unix_millis();
    Span {
        low,
        high: low + grain.millis(),
    }
}

/// Whether there is a day that it is in.
fn is_there(slot: Span, days: &[Span]) -> bool {
    days.iter().any(|run| slot.part_in(*run).is_some())
}

/// A trace, session or decision has few events, and an index finds them.
fn is_of_one_run(filter: &Filter) -> bool {
    let of_one_run = ["trace_id", "session_id", "decision_id"];
    index_scan::indexed(filter).any(|(column, _)| of_one_run.contains(&column))
}

/// One of these values of a field.
struct Condition {
    field: CountedBy,
    values: Vec<String>,
    starts: Vec<String>,
    /// Whether an index finds them.
    is_indexed: bool,
}

fn conditions(filter: &Filter) -> Vec<Condition> {
    let indexed: Vec<&str> = index_scan::indexed(filter)
        .map(|(column, _)| column)
        .collect();
    let (actions, starts) = index_scan::split(&filter.action);
    let all = [
        (CountedBy::EventType, filter.event_type.clone(), Vec::new()),
        (CountedBy::Result, filter.result.clone(), Vec::new()),
        (CountedBy::AgentId, filter.agent_id.clone(), Vec::new()),
        (CountedBy::Action, actions, starts),
        (CountedBy::Severity, filter.severity.clone(), Vec::new()),
    ];
    all.into_iter()
        .filter(|(_, values, starts)| !values.is_empty() || !starts.is_empty())
        .map(|(field, values, starts)| Condition {
            field,
            values,
            starts,
            is_indexed: indexed.contains(&field.as_str()),
        })
        .collect()
}

/// For each slot that has events, how many: all, and those that meet each condition.
type Counts = BTreeMap<Timestamp, (u64, Vec<u64>)>;

async fn counts(
    connection: &mut PgConnection,
    question: Question<'_>,
    span: Span,
    grain: Grain,
    conditions: &[Condition],
) -> Result<Counts, Error> {
    let at = |millis: i64| to_database(Timestamp::from_unix_millis(millis));
    let within = |sql: &mut QueryBuilder<Postgres>, field: CountedBy| {
        sql.push(" FROM event_counts WHERE org_id = ");
        sql.push_bind(question.org.uuid());
        sql.push(" AND field = ").push_bind(field.as_str());
        sql.push(" AND grain = ").push_bind(grain.as_str());
        sql.push(" AND bucket >= ")
            .push_bind(at(grain.bucket(span.low)));
        sql.push(" AND bucket < ").push_bind(at(span.high));
    };
    let mut sql = QueryBuilder::new("SELECT bucket, 0, sum(events)::bigint");
    // Every event has a result, so these are all.
    within(&mut sql, CountedBy::Result);
    sql.push(" GROUP BY bucket");
    for (number, condition) in (1_i32..).zip(conditions) {
        sql.push(" UNION ALL SELECT bucket, ").push_bind(number);
        sql.push(", sum(events)::bigint");
        within(&mut sql, condition.field);
        // A value '' stands for others that were too many to count one by one.
        sql.push(" AND (value = '' OR value = ANY(");
        sql.push_bind(condition.values.clone());
        sql.push(") OR value ^@ ANY(");
        sql.push_bind(condition.starts.clone());
        sql.push(")) GROUP BY bucket");
    }
    let rows: Vec<(OffsetDateTime, i32, i64)> = sql.build_query_as().fetch_all(connection).await?;
    let mut counts = Counts::new();
    for (bucket, number, events) in rows {
        let none = || (0, vec![0; conditions.len()]);
        let (all, met) = counts.entry(from_database(bucket)).or_insert_with(none);
        let place = usize::try_from(number).unwrap_or(0).checked_sub(1);
        match place.and_then(|place| met.get_mut(place)) {
            Some(met) => *met = events.unsigned_abs(),
            None => *all = events.unsigned_abs(),
        }
    }
    Ok(counts)
}

/// Oldest first; those that had no events are left out.
fn slots(counts: &Counts, conditions: &[Condition], filter: &Filter, grain: Grain) -> Vec<Slot> {
    let per_event = terms::body_cost(filter).max(1);
    let slot = |(at, (all, met)): (&Timestamp, &(u64, Vec<u64>))| {
        let found = conditions.iter().zip(met);
        let found = found.filter(|(condition, _)| condition.is_indexed);
        let read = found.map(|(_, met)| *met).min().unwrap_or(*all);
        Slot {
            span: span_of(*at, grain),
            cost: read.saturating_mul(per_event),
            possible: met.iter().copied().min().unwrap_or(*all),
        }
    };
    counts.iter().map(slot).collect()
}

impl Cover {
    /// All of a time, whatever it costs.
    pub(super) fn all(time: Span) -> Self {
        Self {
            spans: vec![time],
            from: time.low,
            is_all: true,
            can_subtract: false,
            slots: Vec::new(),
        }
    }

    /// The newest slots that cost no more than so much together, and the newest one at least.
    fn newest(time: Span, slots: Vec<Slot>, rows_most: u64) -> Self {
        match cut(&slots, rows_most) {
            Some(from) => Self::since(time, slots, from),
            None => Self {
                is_all: true,
                ..Self::since(time, slots, time.low)
            },
        }
    }

    fn since(time: Span, slots: Vec<Slot>, from: i64) -> Self {
        let from = from.max(time.low);
        let part = Span { low: from, ..time };
        let possible = slots.iter().filter(|slot| slot.possible > 0);
        let mut spans: Vec<Span> = Vec::new();
        for span in possible.filter_map(|slot| slot.span.part_in(part)) {
            match spans.last_mut() {
                Some(last) if last.high == span.low => last.high = span.high,
                _ => spans.push(span),
            }
        }
        if spans.len() > PIECES_MAX {
            spans = vec![part];
        }
        Self {
            spans,
            from,
            is_all: false,
            can_subtract: false,
            slots,
        }
    }

    /// The same, from the start of a bar on: a bar is counted as a whole or not at all, unless there is none but the last.
    pub(super) fn starting_with_a_bar(self, bars: &Bars, time: Span) -> Self {
        let from = bars.start_after(self.from);
        let is_empty = self.slots.iter().all(|slot| slot.span.low < from);
        if self.is_all || is_empty {
            return self;
        }
        Self::since(time, self.slots, from)
    }

    /// About how many there are in all of the time, if so many are in this part: as many more as there can be.
    pub(super) fn scaled(&self, counted: u64) -> u64 {
        let possible = |slot: &Slot| u128::from(slot.possible);
        let all: u128 = self.slots.iter().map(possible).sum();
        let covered = self.slots.iter().filter(|slot| slot.span.low >= self.from);
        let covered: u128 = covered.map(possible).sum();
        let scaled = u128::from(counted) * all / covered.max(1);
        u64::try_from(scaled).unwrap_or(u64::MAX).max(counted)
    }
}

/// Where the part begins that can be read for so much; `None` if that is all.
fn cut(slots: &[Slot], rows_most: u64) -> Option<i64> {
    let mut cost = 0_u64;
    let mut from = None;
    for slot in slots.iter().rev().filter(|slot| slot.possible > 0) {
        cost = cost.saturating_add(slot.cost);
        if cost > rows_most && from.is_some() {
            return from;
        }
        from = Some(slot.span.low);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const TIME: Span = Span {
        low: 0,
        high: 4 * HOUR,
    };

    fn slot(hour: i64, cost: u64, possible: u64) -> Slot {
        Slot {
            span: Span {
                low: hour * HOUR,
                high: (hour + 1) * HOUR,
            },
            cost,
            possible,
        }
    }

    fn spans(cover: &Cover) -> Vec<(i64, i64)> {
        let hours = cover.spans.iter();
        hours
            .map(|span| (span.low / HOUR, span.high / HOUR))
            .collect()
    }

    #[test]
    fn what_can_have_no_match_is_not_read_and_costs_nothing() {
        let slots = vec![
            slot(0, 90, 5),
            slot(1, 900, 0),
            slot(2, 5, 5),
            slot(3, 5, 1),
        ];
        let cover = Cover::newest(TIME, slots, 100);
        assert!(cover.is_all);
        assert_eq!(spans(&cover), [(0, 1), (2, 4)]);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_estimated() {
        let slots = vec![
            slot(0, 90, 90),
            slot(1, 90, 90),
            slot(2, 20, 20),
            slot(3, 40, 40),
        ];
        let cover = Cover::newest(TIME, slots, 100);
        assert!(!cover.is_all);
        assert_eq!((cover.from, spans(&cover)), (2 * HOUR, vec![(2, 4)]));
        assert_eq!(cover.scaled(30), 120, "30 of 60, so 120 of 240");
    }

    #[test]
    fn the_newest_is_read_whatever_it_costs() {
        let cover = Cover::newest(TIME, vec![slot(2, 90, 90), slot(3, 900, 900)], 100);
        assert_eq!((cover.is_all, spans(&cover)), (false, vec![(3, 4)]));
        let cover = Cover::newest(TIME, vec![slot(3, 900, 900)], 100);
        assert!(cover.is_all, "there is no other");
    }
}
