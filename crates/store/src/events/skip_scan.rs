//! Where rare events can be: the counts of events by day, hour and minute, read as a sparse index.
//!
//! Types, starts of actions, and the results and severities that most events have, are in no index of
//! their own. But each has counts, written in the transaction that writes the events, so a day, hour or
//! minute in which one of the wanted values was not counted needs no look. Three logins among ten million
//! events are found at once.

use domain::{
    Day, EventId, OrgId,
    event::{Filter, Source, reserved::RESERVED, source::SourcePattern},
};
use sqlx::{PgConnection, Postgres, QueryBuilder};
use time::OffsetDateTime;
use uuid::Uuid;

use super::{
    counts::Grain,
    index_scan::{Driver, split},
    list::{EventsQuery, Order},
    page_scan::Stretch,
    terms,
};
use crate::{Error, times};

/// How many days are tried in which every value was counted, but not in the same hour. After that
/// the walk goes on from where this has got.
const DAYS_TRIED_MOST: usize = 8;
/// How many values of a day, hour or minute are compared with the starts of actions; where there are
/// more, any could be there.
const VALUES_COMPARED_MOST: i64 = 1_000;

/// What the counts say about what is ahead.
pub(super) enum Possible {
    /// There is nothing more.
    Nowhere,
    /// First in this minute, hour or day.
    In(Stretch),
    /// They cannot say.
    Anywhere,
}

/// The conditions that the counts know something about.
pub(super) struct Sparse<'w> {
    org: OrgId,
    order: Order,
    days: &'w [Day],
    conditions: Vec<Condition>,
}

/// What a field must be in one event at least.
struct Condition {
    field: &'static str,
    values: Values,
}

enum Values {
    /// One of these values, or one that starts like one of these.
    One {
        values: Vec<String>,
        starts: Vec<String>,
    },
    /// None of these values.
    Other(Vec<String>),
}

impl<'w> Sparse<'w> {
    pub(super) fn new(org: OrgId, wanted: &EventsQuery, days: &'w [Day]) -> Self {
        Self {
            org,
            order: wanted.order,
            days,
            conditions: conditions(&wanted.filter),
        }
    }

    /// Whether the counts can say anything.
    pub(super) fn is_some(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The first minute or hour of what is ahead in which every value was counted.
    pub(super) async fn next(
        &mut self,
        connection: &mut PgConnection,
        ahead: Stretch,
    ) -> Result<Possible, Error> {
        // Whoever fills the index without counting (a restore of events alone) is not led astray.
        if self.conditions.is_empty() || !counts_are_kept(connection).await? {
            self.conditions.clear();
            return Ok(Possible::Anywhere);
        }
        let mut left = ahead;
        for _ in 0..DAYS_TRIED_MOST {
            let days = self.days.iter().map(|day| Stretch::day(*day));
            let Some((day, _)) = self.first(connection, Grain::Day, days, left).await? else {
                return Ok(Possible::Nowhere);
            };
            let hours = parts(day, Grain::Hour);
            let Some((hour, has_minutes)) =
                self.first(connection, Grain::Hour, hours, left).await?
            else {
                left = left.without(day, self.order);
                continue;
            };
            if !has_minutes {
                return Ok(Possible::In(hour));
            }
            let minutes = parts(hour, Grain::Minute);
            if let Some((minute, _)) = self.first(connection, Grain::Minute, minutes, left).await? {
                return Ok(Possible::In(minute));
            }
            left = left.without(hour, self.order);
        }
        Ok(Possible::In(left))
    }

    /// The first of `parts` that meets `ahead` and in which every value was counted, and whether the
    /// minutes of that time are still kept.
    async fn first(
        &self,
        connection: &mut PgConnection,
        grain: Grain,
        parts: impl DoubleEndedIterator<Item = Stretch>,
        ahead: Stretch,
    ) -> Result<Option<(Stretch, bool)>, Error> {
        let mut parts: Vec<Stretch> = parts.filter(|part| part.meets(ahead)).collect();
        if matches!(self.order, Order::NewestFirst) {
            parts.reverse();
        }
        let starts: Vec<OffsetDateTime> = parts.iter().map(|part| start(*part)).collect();
        let mut sql = QueryBuilder::<Postgres>::new(
            // Minutes are kept for 7 days; one day earlier they are surely all there.
            "SELECT place, bucket > now() - interval '6 days' FROM unnest(",
        );
        sql.push_bind(starts);
        sql.push(") WITH ORDINALITY AS wanted (bucket, place) WHERE true");
        for condition in &self.conditions {
            sql.push(" AND EXISTS (");
            self.push_counted(&mut sql, condition, grain);
            sql.push(")");
        }
        sql.push(" ORDER BY place LIMIT 1");
        let found: Option<(i64, bool)> = sql.build_query_as().fetch_optional(connection).await?;
        Ok(found.and_then(|(place, has_minutes)| {
            let place = usize::try_from(place - 1).ok()?;
            parts.get(place).map(|part| (*part, has_minutes))
        }))
    }

    /// A value '' stands for others that were too many to count one by one.
    fn push_counted(&self, sql: &mut QueryBuilder<Postgres>, condition: &Condition, grain: Grain) {
        let counted = |sql: &mut QueryBuilder<Postgres>| {
            sql.push(" FROM event_counts c WHERE c.org_id = ");
            sql.push_bind(self.org.uuid());
            sql.push(" AND c.field = ").push_bind(condition.field);
            sql.push(" AND c.grain = ").push_bind(grain.as_str());
            sql.push(" AND c.bucket = wanted.bucket");
        };
        let (values, starts) = match &condition.values {
            Values::One { values, starts } => (values, starts),
            Values::Other(values) => {
                sql.push("SELECT 1");
                counted(sql);
                sql.push(" AND c.value <> ALL(")
                    .push_bind(values.clone())
                    .push(")");
                return;
            }
        };
        let mut values = values.clone();
        values.push(String::new());
        if starts.is_empty() {
            sql.push("SELECT 1");
            counted(sql);
            sql.push(" AND c.value = ANY(").push_bind(values).push(")");
            return;
        }
        sql.push("SELECT 1 FROM (SELECT c.value, row_number() OVER () AS number");
        counted(sql);
        sql.push(" LIMIT ").push_bind(VALUES_COMPARED_MOST);
        sql.push(") AS compared WHERE number = ")
            .push_bind(VALUES_COMPARED_MOST);
        sql.push(" OR value = ANY(").push_bind(values);
        sql.push(") OR value ^@ ANY(")
            .push_bind(starts.clone())
            .push(")");
    }
}

/// What no index decides. A trace, session or decision has few events, and all of them are looked at
/// soon.
fn conditions(filter: &Filter) -> Vec<Condition> {
    let driver = Driver::of(filter);
    if ["trace_id", "session_id", "decision_id"]
        .iter()
        .any(|column| driver.is(column))
    {
        return Vec::new();
    }
    let counted = [
        ("event_type", &filter.event_type),
        ("result", &filter.result),
        ("severity", &filter.severity),
    ];
    let mut conditions: Vec<Condition> = counted
        .into_iter()
        .filter(|(field, values)| !values.is_empty() && !driver.is(field))
        .map(|(field, values)| Condition::one_of(field, values.clone()))
        .collect();
    if !filter.action.is_empty() && !driver.is("action") {
        let (values, starts) = split(&filter.action);
        conditions.push(Condition {
            field: "action",
            values: Values::One { values, starts },
        });
    }
    // Who wrote an event is not counted; but what the server writes is of a type of its own.
    let is_of_the_server = filter.source == [SourcePattern::Is(Source::Server)];
    if is_of_the_server && filter.event_type.is_empty() {
        let reserved = RESERVED.map(str::to_owned).to_vec();
        conditions.push(Condition::one_of("event_type", reserved));
    }
    conditions.extend(others_wanted(filter));
    conditions
}

/// Fields of which a query leaves some values out. An agent's are too many to be worth asking for.
fn others_wanted(filter: &Filter) -> impl Iterator<Item = Condition> {
    let terms = filter.query.iter().flat_map(|query| &query.query().terms);
    let left_out = terms.filter_map(terms::left_out);
    left_out
        .filter(|(field, _)| matches!(*field, "event_type" | "result"))
        .map(|(field, values)| Condition {
            field,
            values: Values::Other(values.into_iter().map(str::to_owned).collect()),
        })
}

impl Condition {
    fn one_of(field: &'static str, values: Vec<String>) -> Self {
        let starts = Vec::new();
        Self {
            field,
            values: Values::One { values, starts },
        }
    }
}

/// Whether anything was ever counted. Asks about no organization's data.
pub(super) async fn counts_are_kept(connection: &mut PgConnection) -> Result<bool, Error> {
    let kept = "SELECT EXISTS (SELECT 1 FROM event_counts WHERE grain = 'day')";
    Ok(sqlx::query_scalar(kept).fetch_one(connection).await?)
}

/// A day's hours or an hour's minutes, oldest first.
fn parts(whole: Stretch, grain: Grain) -> impl DoubleEndedIterator<Item = Stretch> {
    let width = u128::from(grain.millis().unsigned_abs()) << 80;
    let count = (whole.high - whole.low) / width;
    (0..count).map(move |number| Stretch {
        low: whole.low + number * width,
        high: whole.low + (number + 1) * width,
    })
}

fn start(part: Stretch) -> OffsetDateTime {
    times::to_database(EventId::from_uuid(Uuid::from_u128(part.low)).time())
}
