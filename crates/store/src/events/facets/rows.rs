//! Counts events one by one: those of some pieces of time that pass a filter.

use domain::{EventId, OrgId, Timestamp, event::Filter};
use sqlx::{PgConnection, Postgres, QueryBuilder};

use super::{
    Question,
    bars::Bars,
    split::Span,
    tally::{self, Tally},
};
use crate::{
    Error,
    events::index_scan::{self, Driver},
};

/// What the events that [`push`] counts have, field by field.
pub(super) const BY_VALUE: &str = "SELECT one.field, one.value, matched.events, false AS is_kept
    FROM matched, LATERAL (VALUES ('event_type', event_type), ('agent_id', agent_id), ('action', action),
                                  ('result', result), ('severity', severity)) AS one (field, value)
    WHERE one.value IS NOT NULL";
/// Their results over time.
pub(super) const BY_BAR: &str = "SELECT bar, result AS value, events FROM matched";

/// Events of a piece of time.
#[derive(Clone, Copy)]
pub(super) struct Piece<'p> {
    pub span: Span,
    pub which: Which<'p>,
}

#[derive(Clone, Copy)]
pub(super) enum Which<'p> {
    /// Those that pass a filter.
    Passing(&'p Filter),
    /// Taken away: those with other results than these, one of which is `success`. An index has them.
    NotWith(&'p [String]),
}

pub(super) async fn count(
    connection: &mut PgConnection,
    question: Question<'_>,
    spans: &[Span],
    bars: &Bars,
) -> Result<Tally, Error> {
    let which = Which::Passing(question.filter);
    let pieces = spans.iter().map(|span| Piece { span: *span, which });
    let mut sql = QueryBuilder::new("WITH ");
    push(&mut sql, question.org, pieces, bars);
    sql.push(", by_value AS (").push(BY_VALUE);
    sql.push("), by_bar AS (").push(BY_BAR).push(")");
    tally::add_up(connection, sql, bars).await
}

/// Groups the events of some pieces of time by all that is counted, as the table `matched`. They have few combinations
/// of values, so what is added up afterwards is small, and PostgreSQL can group with several workers.
pub(super) fn push<'p>(
    sql: &mut QueryBuilder<Postgres>,
    org: OrgId,
    pieces: impl Iterator<Item = Piece<'p>>,
    bars: &Bars,
) {
    let starts = bars.first_ids();
    // Where there are no pieces, so that the table has its columns all the same.
    sql.push(
        "matched AS MATERIALIZED (
           SELECT 0 AS bar, '' AS event_type, '' AS agent_id, '' AS action, '' AS result, NULL AS severity,
                  0::bigint AS events WHERE false",
    );
    for piece in pieces {
        sql.push(" UNION ALL SELECT width_bucket(id, ");
        sql.push_bind(starts.clone());
        sql.push("), event_type, agent_id, action, result, severity, ");
        sql.push(match piece.which {
            Which::Passing(_) => "count(*)",
            Which::NotWith(_) => "-count(*)",
        });
        push_events(sql, org, piece);
        sql.push(" GROUP BY 1, 2, 3, 4, 5, 6");
    }
    sql.push(")");
}

fn push_events(sql: &mut QueryBuilder<Postgres>, org: OrgId, Piece { span, which }: Piece<'_>) {
    let first_id = |millis: i64| EventId::first_at(Timestamp::from_unix_millis(millis)).uuid();
    sql.push(" FROM audit_events WHERE org_id = ");
    sql.push_bind(org.uuid());
    sql.push(" AND id >= ").push_bind(first_id(span.low));
    sql.push(" AND id < ").push_bind(first_id(span.high));
    sql.push(" AND ");
    match which {
        Which::Passing(filter) => index_scan::push_conditions(sql, filter, &Driver::Time),
        Which::NotWith(results) => {
            sql.push("result <> 'success' AND result <> ALL(");
            sql.push_bind(results.to_vec()).push(")");
        }
    }
}
