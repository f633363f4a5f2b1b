//! Adds up what was counted, either way: the values of each field, and the results over time.

use std::collections::BTreeMap;

use domain::event::check::SEVERITIES;
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};

use super::bars::Bars;
use crate::{Error, events::CountedBy};

/// How many values of a field are told apart: what one looks through without searching.
const VALUES_MAX: i64 = 20;
/// How many kept counts of a field are added up; beyond it the values that were left out make the others inexact.
pub(super) const COUNTS_MAX: i64 = 200_000;
/// The results that events have by convention; there may be others. Like the severities they are always named, so that one
/// with no events is seen to have none.
const RESULTS: [&str; 3] = ["success", "denied", "error"];

/// What was counted.
pub(super) struct Tally {
    pub values: BTreeMap<CountedBy, Vec<(String, u64)>>,
    /// For each bar how many events have which result; `None` for all results that are not among the values.
    pub bars: Vec<BTreeMap<Option<String>, u64>>,
    /// Whether the values have exactly so many events.
    pub is_exact: bool,
}

/// One row of the answer.
#[derive(FromRow)]
struct Row {
    /// The field that the value is of, or none: then it is a result, in a bar.
    field: Option<String>,
    bar: Option<i32>,
    value: Option<String>,
    events: i64,
    /// How many kept counts of the field were added up.
    counts: i64,
}

/// Runs a query that begins with what has been counted, some of it to be taken away, as the tables `by_value` (field, value, events,
/// is_kept) and `by_bar` (bar, value, events).
pub(super) async fn add_up(
    connection: &mut PgConnection,
    mut sql: QueryBuilder<Postgres>,
    bars: &Bars,
) -> Result<Tally, Error> {
    // A value '' is none: it stands for many that were not counted one by one, and comes first to be noticed. A value
    // of which nothing is left, though counts of it were added up, is one of those that count.
    sql.push(
        ", ranked AS MATERIALIZED (
               SELECT field, value, events, counts,
                      row_number() OVER (PARTITION BY field
                                         ORDER BY value = '' DESC, events DESC, value COLLATE \"C\") AS place
               FROM (SELECT field, value, sum(events)::bigint AS events,
                            sum(count(*) FILTER (WHERE is_kept)) OVER (PARTITION BY field)::bigint AS counts
                     FROM by_value GROUP BY field, value) AS summed
               WHERE events > 0)
           SELECT field, NULL::int AS bar, value, events, counts FROM ranked WHERE place <= ",
    );
    sql.push_bind(VALUES_MAX + 1);
    sql.push(
        " UNION ALL
           SELECT NULL, bar, CASE WHEN value IN (SELECT value FROM ranked WHERE field = 'result' AND place <= ",
    );
    sql.push_bind(VALUES_MAX);
    sql.push(
        " AND value <> '') THEN value END AS named, sum(events)::bigint, 0::bigint
           FROM by_bar GROUP BY bar, named HAVING sum(events) > 0",
    );
    let rows: Vec<Row> = sql.build_query_as().fetch_all(connection).await?;
    let mut tally = Tally::new(bars.len());
    for row in rows {
        tally.add(row);
    }
    tally.finish();
    Ok(tally)
}

impl Tally {
    /// Of no events.
    pub(super) fn nothing() -> Self {
        let mut tally = Self::new(0);
        tally.finish();
        tally
    }

    fn new(bars: usize) -> Self {
        Self {
            values: BTreeMap::new(),
            bars: vec![BTreeMap::new(); bars],
            is_exact: true,
        }
    }

    fn add(&mut self, row: Row) {
        let events = row.events.unsigned_abs();
        let Some(field) = row.field else {
            // PostgreSQL counts bars from 1.
            let place = row.bar.and_then(|bar| usize::try_from(bar - 1).ok());
            if let Some(bar) = place.and_then(|place| self.bars.get_mut(place)) {
                *bar.entry(row.value).or_default() += events;
            }
            return;
        };
        let mut known = CountedBy::ALL.into_iter();
        let field = known.find(|one| one.as_str() == field);
        let (Some(field), Some(value)) = (field, row.value) else {
            return;
        };
        self.is_exact &= row.counts <= COUNTS_MAX;
        if value.is_empty() {
            self.is_exact = false;
        } else {
            self.values.entry(field).or_default().push((value, events));
        }
    }

    /// Orders the values, and names those that are known and had no events.
    fn finish(&mut self) {
        let worst_first = SEVERITIES.into_iter().rev();
        let always = RESULTS
            .map(|result| (CountedBy::Result, result))
            .into_iter()
            .chain(worst_first.map(|severity| (CountedBy::Severity, severity)));
        for field in CountedBy::ALL {
            let values = self.values.entry(field).or_default();
            values.sort_by(|(a, in_a), (b, in_b)| in_b.cmp(in_a).then(a.cmp(b)));
            values.truncate(usize::try_from(VALUES_MAX).unwrap_or(usize::MAX));
        }
        for (field, known) in always {
            let values = self.values.entry(field).or_default();
            if values.iter().all(|(value, _)| value != known) {
                values.push((known.to_owned(), 0));
            }
        }
    }
}
