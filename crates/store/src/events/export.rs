//! Reads events for exports and for the archive: many at a time, newest first, each piece a query of
//! its own.
//!
//! A piece looks at a bounded number of rows and returns a bounded number of bytes, and the connection
//! is given back after it: a client that reads slowly holds no transaction. PostgreSQL joins the events
//! of a piece into one text, so that a filter's values are bound and one row travels (ADR 0013 has what
//! that costs beside COPY).

use domain::{
    EventId, OrgId,
    event::{Filter, filter::ActionPattern},
};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{Error, Store};

/// What one piece returns at most, give or take an event. Two are in memory for each export: the one
/// being sent and the next.
const PIECE_BYTES_MAX: i64 = 2 * 1024 * 1024;
/// Rows that the first piece looks at: few, so that the first byte is there soon.
const ROWS_FIRST: u32 = 1_000;
/// Rows that a piece looks at: some 10 ms.
const ROWS_MAX: u32 = 10_000;
const ROWS_MIN: u32 = 100;

/// Where an export stands: what is left of a range of ids, read from its upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// No event below this.
    pub from: EventId,
    /// Only events below this.
    pub below: EventId,
    /// All events but this.
    pub without: Option<EventId>,
    /// How many rows the next piece looks at; what the last one returned says how many fill one.
    rows: u32,
}

/// Some of an organisation's events.
#[derive(Debug)]
pub struct Piece {
    /// Their stored JSON, newest first, separated by line ends.
    pub text: String,
    /// The bytes of each.
    pub lengths: Vec<u32>,
    /// `None`: there is no more.
    pub next: Option<Position>,
}

impl Position {
    pub fn new(from: EventId, below: EventId, without: Option<EventId>) -> Self {
        Self {
            from,
            below,
            without,
            rows: ROWS_FIRST,
        }
    }
}

impl Store {
    /// The next events at a position that `filter` asks for, and where to go on. The filter's times
    /// are not looked at: the position has them.
    pub async fn export_events(
        &self,
        org: OrgId,
        filter: &Filter,
        at: Position,
    ) -> Result<Piece, Error> {
        let mut query = query(org, filter, at);
        let (text, lengths, looked_at, last): (
            Option<String>,
            Option<Vec<i32>>,
            i64,
            Option<Uuid>,
        ) = query.build_query_as().fetch_one(&self.pool).await?;
        let text = text.unwrap_or_default();
        let lengths: Vec<u32> = lengths
            .unwrap_or_default()
            .into_iter()
            .map(i32::unsigned_abs)
            .collect();
        let next = last.map(|last| Position {
            below: EventId::from_uuid(last),
            rows: rows_that_fill(looked_at, text.len()),
            ..at
        });
        Ok(Piece {
            text,
            lengths,
            next,
        })
    }

    /// The newest and the oldest event of an organisation with an id from `from` on and below `below`.
    pub async fn event_bounds(
        &self,
        org: OrgId,
        from: EventId,
        below: EventId,
    ) -> Result<Option<(EventId, EventId)>, Error> {
        let bounds: Option<(Option<Uuid>, Option<Uuid>)> = sqlx::query_as(
            "SELECT (SELECT id FROM audit_events WHERE org_id = $1 AND id >= $2 AND id < $3
                     ORDER BY id DESC LIMIT 1),
                    (SELECT id FROM audit_events WHERE org_id = $1 AND id >= $2 AND id < $3
                     ORDER BY id LIMIT 1)",
        )
        .bind(org.uuid())
        .bind(from.uuid())
        .bind(below.uuid())
        .fetch_optional(&self.pool)
        .await?;
        Ok(bounds.and_then(|(newest, oldest)| {
            Some((EventId::from_uuid(newest?), EventId::from_uuid(oldest?)))
        }))
    }
}

/// How many rows to look at for a full piece, when so many gave so many bytes. A tenth more is asked
/// for: what is too much is cut off where the bytes are enough.
fn rows_that_fill(looked_at: i64, bytes: usize) -> u32 {
    let looked_at = u64::try_from(looked_at).unwrap_or(0);
    let room = PIECE_BYTES_MAX.unsigned_abs() * 11 / 10;
    let rows = looked_at * room / (bytes as u64).max(1);
    u32::try_from(rows).map_or(ROWS_MAX, |rows| rows.clamp(ROWS_MIN, ROWS_MAX))
}

/// Looks at rows in order of id, keeps those that match, and stops where their bytes are enough.
fn query(org: OrgId, filter: &Filter, at: Position) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(
        "SELECT string_agg(body, E'\\n') FILTER (WHERE matches),
                array_agg(octet_length(body)) FILTER (WHERE matches),
                count(*), (array_agg(id))[count(*)]
         FROM (SELECT id, body, matches, sum(bytes) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) - bytes AS before
               FROM (SELECT id, body, matches, CASE WHEN matches THEN octet_length(body) ELSE 0 END AS bytes
                     FROM (SELECT id, body, ",
    );
    push_matches(&mut query, filter, at.without);
    query.push(" AS matches FROM audit_events WHERE org_id = ");
    query.push_bind(org.uuid());
    query.push(" AND id >= ").push_bind(at.from.uuid());
    query.push(" AND id < ").push_bind(at.below.uuid());
    push_narrowing(&mut query, filter);
    query.push(" ORDER BY id DESC LIMIT ");
    query.push_bind(i64::from(at.rows));
    query.push(") AS looked_at) AS measured) AS summed WHERE before < ");
    query.push_bind(PIECE_BYTES_MAX);
    query
}

/// One condition of one value that an index serves in order of id, so that what does not match is not
/// even looked at. With the others, or with more values, PostgreSQL might walk far to fill the limit.
fn push_narrowing(query: &mut QueryBuilder<Postgres>, filter: &Filter) {
    let narrow = [
        ("decision_id", &filter.decision_id),
        ("trace_id", &filter.trace_id),
        ("session_id", &filter.session_id),
        ("agent_id", &filter.agent_id),
    ];
    let single = narrow
        .into_iter()
        .find_map(|(column, values)| match values.as_slice() {
            [value] => Some((column, value)),
            _ => None,
        });
    if let Some((column, value)) = single {
        query
            .push(format_args!(" AND {column} = "))
            .push_bind(value.clone());
    } else if let [ActionPattern::Is(action)] = filter.action.as_slice() {
        query.push(" AND action = ").push_bind(action.clone());
    }
}

/// Whether a row is asked for, as `Filter::matches` means it.
fn push_matches(query: &mut QueryBuilder<Postgres>, filter: &Filter, without: Option<EventId>) {
    query.push("(true");
    if let Some(id) = without {
        query.push(" AND id <> ").push_bind(id.uuid());
    }
    for (column, values) in filter.texts() {
        if !values.is_empty() {
            // `severity` and others may be NULL, which must be no.
            query.push(format_args!(" AND coalesce({column} = ANY("));
            query.push_bind(values.to_vec()).push("), false)");
        }
    }
    if !filter.action.is_empty() {
        query.push(" AND (false");
        for pattern in &filter.action {
            match pattern {
                ActionPattern::Is(action) => {
                    query.push(" OR action = ").push_bind(action.clone());
                }
                ActionPattern::StartsWith(start) => {
                    query.push(" OR starts_with(action, ");
                    query.push_bind(start.clone()).push(")");
                }
            }
        }
        query.push(")");
    }
    if let Some(q) = &filter.q {
        // In the collation "C" only ASCII letters have a case.
        query.push(" AND strpos(lower(body COLLATE \"C\"), ");
        query.push_bind(q.clone()).push(") > 0");
    }
    query.push(")");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_looks_at_as_many_rows_as_fill_it() {
        assert_eq!(rows_that_fill(1_000, 400_000), 5_767);
        assert_eq!(rows_that_fill(1_000, 0), ROWS_MAX);
        assert_eq!(rows_that_fill(1_000, 32_000_000), ROWS_MIN);
        assert_eq!(rows_that_fill(0, 0), ROWS_MIN);
    }
}
