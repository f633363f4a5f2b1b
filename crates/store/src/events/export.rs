//! Reads events for exports and for the archive: many at a time, newest first, each piece a COPY of
//! its own.
//!
//! A piece looks at a bounded number of rows and holds a bounded number of bytes, and the connection is
//! given back after it: a client that reads slowly holds no transaction. A row that is not asked for
//! still sends its id, so the last one always says where to go on (ADR 0012).

use std::{fmt::Write as _, ops::ControlFlow};

use domain::{EventId, OrgId, event::Filter};
use uuid::Uuid;

use super::{
    index_scan::{indexed, split, writers},
    terms::push_terms,
};
use crate::{
    Error, Store,
    copy_out::copy_out,
    literal::{Literal, Literals},
};

/// What a piece should hold: so much that asking for it costs little beside reading it. Two are in memory
/// for each export: the one being sent and the next.
const PIECE_BYTES: usize = 4 * 1024 * 1024;
/// Where a piece is cut off, give or take an event: events that are much larger than those before
/// them. That costs a new connection.
const PIECE_BYTES_MAX: usize = 4 * PIECE_BYTES;
/// Rows that the first piece looks at: few, so that the first byte is there soon.
const ROWS_FIRST: u32 = 1_000;
/// Rows that a piece looks at, if few of them are asked for: some 20 ms.
const ROWS_MAX: u32 = 20_000;
/// So many of the largest events (32 KiB) are less than where a piece is cut off.
const ROWS_MIN: u32 = 256;

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

/// Some of an organization's events.
#[derive(Debug)]
pub struct Piece {
    /// Their stored JSON, newest first, each followed by a line end.
    pub text: String,
    /// The bytes of each, its line end not counted.
    pub lengths: Vec<u32>,
    /// What is left.
    pub reached: Position,
    /// Nothing is left.
    pub is_last: bool,
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

    /// The same, with a next piece that looks at no more rows than this.
    #[must_use]
    pub fn at_most(self, rows: u32) -> Self {
        Self {
            rows: self.rows.min(rows.max(1)),
            ..self
        }
    }
}

impl Store {
    /// The next events at a position that `filter` asks for, and where to go on. A position that has the filter's
    /// times saves looking at others.
    pub async fn export_events(
        &self,
        org: OrgId,
        filter: &Filter,
        at: Position,
    ) -> Result<Piece, Error> {
        let filter = &filter.folded();
        match self.piece(org, filter, at).await {
            // Large events that are searched for a text, say: fewer of them are read in time.
            Err(Error::TookTooLong) if at.rows > ROWS_MIN => {
                self.piece(org, filter, at.at_most(ROWS_MIN)).await
            }
            read => read,
        }
    }

    async fn piece(&self, org: OrgId, filter: &Filter, at: Position) -> Result<Piece, Error> {
        let mut text = Vec::with_capacity(PIECE_BYTES);
        let mut lengths = Vec::new();
        let (mut looked_at, mut below) = (0, at.below);
        let statement = statement(org, filter, at);
        let read = copy_out(&self.pool, &statement, |id, body| {
            looked_at += 1;
            below = EventId::from_uuid(id);
            if let Some(body) = body {
                text.extend_from_slice(body);
                text.push(b'\n');
                lengths.push(u32::try_from(body.len()).expect("a field is below 2 GiB"));
            }
            if text.len() < PIECE_BYTES_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let is_last = read.await?.is_continue() && looked_at < at.rows;
        let rows = rows_that_fill(looked_at, text.len());
        let text = String::from_utf8(text).map_err(|error| Error::Inconsistent {
            what: "events",
            problem: error.to_string(),
        })?;
        Ok(Piece {
            text,
            lengths,
            reached: Position { below, rows, ..at },
            is_last,
        })
    }

    /// The newest and the oldest event of an organization with an id from `from` on and below `below`.
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

/// How many rows to look at for a full piece, when so many gave so many bytes.
fn rows_that_fill(looked_at: u32, bytes: usize) -> u32 {
    let rows = u64::from(looked_at) * PIECE_BYTES as u64 / (bytes as u64).max(1);
    u32::try_from(rows).map_or(ROWS_MAX, |rows| rows.clamp(ROWS_MIN, ROWS_MAX))
}

/// Looks at rows in order of id; those that are not asked for have no body.
fn statement(org: OrgId, filter: &Filter, at: Position) -> String {
    let conditions = conditions(filter, at);
    let candidates = format!(
        "FROM audit_events WHERE org_id = '{org}' AND id >= '{from}' AND id < '{below}'{narrowing}
         ORDER BY id DESC LIMIT {rows}",
        org = org.uuid(),
        from = at.from.uuid(),
        below = at.below.uuid(),
        narrowing = narrowing(filter),
        rows = at.rows,
    );
    let rows = if conditions.is_empty() {
        format!("SELECT id, body {candidates}")
    } else {
        format!(
            "SELECT id, CASE WHEN {conditions} THEN body END
             FROM (SELECT id, body{columns} {candidates}) AS candidates ORDER BY id DESC",
            conditions = conditions.join(" AND "),
            columns = columns(filter),
        )
    };
    format!("COPY ({rows}) TO STDOUT (FORMAT binary)")
}

/// One condition of one value that an index serves in order of id, so that what does not match is not
/// even looked at. With the others, or with more values, PostgreSQL might walk far to fill the limit.
fn narrowing(filter: &Filter) -> String {
    indexed(filter)
        .find_map(|(column, values)| match values.as_slice() {
            [value] => Some(format!(" AND {column} = {}", Literal(value))),
            _ => None,
        })
        .unwrap_or_default()
}

/// Every column that a query can be about, but for those that are read anyway.
const COLUMNS_OF_QUERIES: &str = ", event_type, agent_id, action, result, severity, session_id, trace_id, decision_id, source, received_at";

/// The columns that the conditions are about, but for those that are read anyway.
fn columns(filter: &Filter) -> String {
    let mut columns = String::new();
    for (column, values) in filter.texts() {
        if !values.is_empty() {
            write!(columns, ", {column}").expect("memory takes every write");
        }
    }
    if !filter.action.is_empty() {
        columns.push_str(", action");
    }
    if !filter.source.is_empty() {
        columns.push_str(", source");
    }
    if filter.query.is_some() {
        columns = COLUMNS_OF_QUERIES.to_owned();
    }
    columns
}

/// When a row is asked for, as [`Filter::matches`] means it. One about a column that is NULL is not
/// true, and the row is not asked for.
fn conditions(filter: &Filter, at: Position) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(id) = at.without {
        conditions.push(format!("id <> '{}'", id.uuid()));
    }
    let from = filter.from.map(EventId::first_at);
    if let Some(from) = from.filter(|from| *from > at.from) {
        conditions.push(format!("id >= '{}'", from.uuid()));
    }
    let to = filter.to.map(EventId::first_at);
    if let Some(to) = to.filter(|to| *to < at.below) {
        conditions.push(format!("id < '{}'", to.uuid()));
    }
    for (column, values) in filter.texts() {
        if !values.is_empty() {
            conditions.push(format!("{column} = ANY({})", Literals(values)));
        }
    }
    if !filter.action.is_empty() {
        let (whole, starts) = split(&filter.action);
        conditions.push(format!(
            "(action = ANY({}) OR action ^@ ANY({}))",
            Literals(&whole),
            Literals(&starts)
        ));
    }
    if !filter.source.is_empty() {
        let (whole, starts) = writers(&filter.source);
        conditions.push(format!(
            "(source = ANY({}) OR source ^@ ANY({}))",
            Literals(&whole),
            Literals(&starts)
        ));
    }
    if let Some(q) = &filter.q {
        // In the collation "C" only ASCII letters have a lower case.
        let q = Literal(q);
        conditions.push(format!("position({q} IN lower(body COLLATE \"C\")) > 0"));
    }
    if let Some(query) = &filter.query {
        let mut terms = "true".to_owned();
        push_terms(&mut terms, query.query());
        conditions.push(terms);
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_looks_at_as_many_rows_as_fill_it() {
        assert_eq!(rows_that_fill(1_000, 400_000), 10_485);
        assert_eq!(rows_that_fill(1_000, 0), ROWS_MAX);
        assert_eq!(rows_that_fill(1_000, 32_000_000), ROWS_MIN);
        assert_eq!(rows_that_fill(0, 0), ROWS_MIN);
    }

    #[test]
    fn the_largest_events_are_not_cut_off_every_time() {
        let largest = ROWS_MIN as usize * domain::event::EVENT_BYTES_MAX;
        assert!(largest < PIECE_BYTES_MAX);
    }
}
