//! Counts a time by the counts that the indexer keeps, and reads only what they leave over at its ends, and what a
//! filter by the usual result leaves out.

use domain::{OrgId, Timestamp, event::Filter};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{
    Time,
    bars::Bars,
    rows::{self, Piece, Which},
    split::{Ends, Split, Whole},
    tally::{self, COUNTS_MAX, Tally},
};
use crate::{
    Error,
    events::{CountedBy, Grain},
    times::to_database,
};

/// What kept counts can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept<'q> {
    /// All events of a time.
    All,
    /// Those with these results, one of which is `success`: all but the few others, which are read.
    With(&'q [String]),
}

impl<'q> Kept<'q> {
    pub(super) fn of(filter: &'q Filter) -> Option<Self> {
        let others = Filter {
            from: None,
            to: None,
            result: Vec::new(),
            ..filter.clone()
        };
        if others != Filter::default() {
            return None;
        }
        if filter.result.is_empty() {
            return Some(Self::All);
        }
        let is_usual = filter.result.iter().any(|result| result == "success");
        is_usual.then_some(Self::With(&filter.result))
    }
}

pub(super) async fn count(
    connection: &mut PgConnection,
    org: OrgId,
    kept: Kept<'_>,
    time: &Time,
    bars: &Bars,
    ends: Ends,
) -> Result<Tally, Error> {
    let by_value = split(time, Grain::Day, ends);
    // A bar has whole intervals of its own grain, so it is added up of those.
    let by_bar = split(time, bars.grain(), ends);
    let mut sql = QueryBuilder::new("WITH ");
    // Both are cut down to the same minutes or hours, and leave the same ends.
    let all = Filter::default();
    let at_ends = by_value.ends.iter().map(|span| Piece {
        span: *span,
        which: Which::Passing(&all),
    });
    let left_out = match kept {
        Kept::All => None,
        Kept::With(results) => Some(Piece {
            span: time.counted,
            which: Which::NotWith(results),
        }),
    };
    rows::push(&mut sql, org, at_ends.chain(left_out), bars);
    sql.push(", by_value AS MATERIALIZED (")
        .push(rows::BY_VALUE);
    for field in CountedBy::ALL {
        push_field(&mut sql, org, field, &by_value.whole);
    }
    sql.push("), by_bar AS (").push(rows::BY_BAR);
    let starts: Vec<_> = bars.starts().map(to_database).collect();
    for whole in &by_bar.whole {
        sql.push(" UNION ALL SELECT width_bucket(bucket, ");
        sql.push_bind(starts.clone());
        sql.push("), value, events");
        push_counts(&mut sql, org, CountedBy::Result, *whole);
    }
    sql.push(")");
    let tally = tally::add_up(connection, sql, bars).await?;
    Ok(Tally {
        is_exact: tally.is_exact && !by_value.is_wider,
        ..tally
    })
}

/// Only days that there are count: the counts of one that was dropped may be there for a while.
fn split(time: &Time, coarsest: Grain, ends: Ends) -> Split {
    let mut all = Split::default();
    for part in time.days.iter().filter_map(|run| run.part_in(time.counted)) {
        all.append(Split::of(part, coarsest, time.minutes_from, ends));
    }
    all
}

/// The counts of one field, as many as are added up and one more.
fn push_field(sql: &mut QueryBuilder<Postgres>, org: OrgId, field: CountedBy, whole: &[Whole]) {
    if whole.is_empty() {
        return;
    }
    sql.push(" UNION ALL (SELECT field, value, events, true FROM (");
    for (number, one) in whole.iter().enumerate() {
        sql.push(if number > 0 { " UNION ALL " } else { "" });
        sql.push("SELECT field, value, events");
        push_counts(sql, org, field, *one);
    }
    sql.push(") AS kept LIMIT ");
    sql.push_bind(COUNTS_MAX + 1);
    sql.push(")");
}

fn push_counts(sql: &mut QueryBuilder<Postgres>, org: OrgId, field: CountedBy, whole: Whole) {
    let at = |millis: i64| to_database(Timestamp::from_unix_millis(millis));
    sql.push(" FROM event_counts WHERE org_id = ");
    sql.push_bind(org.uuid());
    sql.push(" AND field = ").push_bind(field.as_str());
    sql.push(" AND grain = ").push_bind(whole.grain.as_str());
    sql.push(" AND bucket >= ").push_bind(at(whole.span.low));
    sql.push(" AND bucket < ").push_bind(at(whole.span.high));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_and_the_usual_result_are_answered_by_kept_counts() {
        let filter = |pairs: &[(&str, &str)]| {
            let mut filter = Filter::default();
            for (name, value) in pairs {
                filter.add(name, value).expect("a filter");
            }
            filter
        };
        let from = ("from", "2026-11-15T00:00:00Z");
        assert_eq!(Kept::of(&filter(&[from])), Some(Kept::All));
        let usual = filter(&[from, ("result", "error"), ("result", "success")]);
        assert_eq!(Kept::of(&usual), Some(Kept::With(&usual.result)));
        for other in [
            filter(&[("result", "error")]),
            filter(&[("result", "success"), ("agent_id", "ag-1")]),
            filter(&[("q", "success")]),
        ] {
            assert_eq!(Kept::of(&other), None);
        }
    }
}
