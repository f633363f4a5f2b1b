//! One look: reads a stretch of events in order by one index, and keeps those that are asked for.

use std::marker::PhantomData;

use domain::{
    EventId, OrgId,
    event::{
        filter::{ActionPattern, Filter},
        source::SourcePattern,
    },
};
use futures::TryStreamExt as _;
use sqlx::{PgConnection, Postgres, QueryBuilder, Row as _, postgres::PgRow};
use uuid::Uuid;

use super::{list::Order, page_scan::Stretch, terms::push_terms};
use crate::Error;

/// What is shown, and what conditions are about.
const COLUMNS: &str = "id, event_type, agent_id, action, result, severity, session_id, trace_id, decision_id, source, received_at, body";

/// What is read of an event that is asked for.
pub(super) trait Hit: Sized + Send + Unpin {
    /// An expression of [`COLUMNS`], of the type that `read` takes; not evaluated for other events.
    const SHOWN: &'static str;

    /// Reads it from the column `shown`.
    fn read(id: EventId, row: &PgRow) -> Result<Self, sqlx::Error>;

    fn id(&self) -> EventId;

    /// How many bytes it adds to the answer.
    fn bytes(&self) -> usize;
}

/// What is looked for, where, and how far.
pub(super) struct Look<'l, H> {
    pub org: OrgId,
    pub filter: &'l Filter,
    pub order: Order,
    pub within: Stretch,
    /// How many events are looked at.
    pub events_most: u32,
    /// How many that are asked for are returned; having them, the look ends early.
    pub hits_most: u32,
    /// It also ends with the hit that makes so many bytes of them.
    pub bytes_most: usize,
    pub shown: PhantomData<H>,
}

/// What a look saw.
pub(super) struct Looked<H> {
    pub hits: Vec<H>,
    /// How many bytes the hits have.
    pub bytes: usize,
    /// How many events it looked at, and the last of them; unknown if it ended early.
    pub events: u32,
    pub last: Option<Uuid>,
}

/// The index that events are read by.
pub(super) enum Driver<'l> {
    /// The primary key: all events of the stretch.
    Time,
    /// One that has a column's values in front: only events with one of these.
    Column(&'static str, Vec<&'l str>),
}

impl<'l> Driver<'l> {
    /// The one that singles out fewest.
    pub(super) fn of(filter: &'l Filter) -> Self {
        match indexed(filter).next() {
            Some((column, values)) => Self::Column(column, values),
            None => Self::Time,
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Column(column, _) if *column == name)
    }
}

/// The conditions of a filter that an index serves in order of id, each with its values; what singles
/// out fewest comes first.
pub(super) fn indexed(filter: &Filter) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
    let any = |_: &str| true;
    // What people look for among the many that went well; these indexes hold nothing else.
    let is_bad = |result: &str| result != "success";
    let is_grave = |severity: &str| ["high", "critical"].contains(&severity);
    let actions: Option<Vec<&str>> = filter.action.iter().map(whole_action).collect();
    [
        ("decision_id", texts_if(&filter.decision_id, any)),
        ("trace_id", texts_if(&filter.trace_id, any)),
        ("session_id", texts_if(&filter.session_id, any)),
        ("agent_id", texts_if(&filter.agent_id, any)),
        ("action", actions),
        ("result", texts_if(&filter.result, is_bad)),
        ("severity", texts_if(&filter.severity, is_grave)),
    ]
    .into_iter()
    .filter_map(|(column, values)| Some((column, values.filter(|values| !values.is_empty())?)))
}

/// The values, if an index has them all.
fn texts_if(values: &[String], has: impl Fn(&str) -> bool) -> Option<Vec<&str>> {
    let texts = values.iter().map(String::as_str);
    texts.map(|text| has(text).then_some(text)).collect()
}

fn whole_action(pattern: &ActionPattern) -> Option<&str> {
    match pattern {
        ActionPattern::Is(action) => Some(action),
        ActionPattern::StartsWith(_) => None,
    }
}

impl<H: Hit> Look<'_, H> {
    pub(super) async fn take(&self, connection: &mut PgConnection) -> Result<Looked<H>, Error> {
        let mut query = self.query("");
        let mut rows = query.build().fetch(connection);
        let mut looked = Looked {
            hits: Vec::new(),
            bytes: 0,
            events: 0,
            last: None,
        };
        while let Some(row) = rows.try_next().await? {
            let id: Uuid = row.try_get("id")?;
            if row.try_get("hit")? {
                let hit = H::read(EventId::from_uuid(id), &row)?;
                looked.bytes += hit.bytes();
                looked.hits.push(hit);
            }
            if row.try_get("is_last")? {
                let number: i64 = row.try_get("number")?;
                looked.events = u32::try_from(number).unwrap_or(u32::MAX);
                looked.last = Some(id);
            }
            if looked.bytes >= self.bytes_most {
                break;
            }
        }
        Ok(looked)
    }

    pub(super) async fn explain(&self, connection: &mut PgConnection) -> Result<String, Error> {
        let mut query = self.query("EXPLAIN (ANALYZE, FORMAT JSON) ");
        let row = query.build().fetch_one(connection).await?;
        // The answer is of the type json, which we have no other use for; its bytes are text.
        Ok(row.try_get_unchecked(0)?)
    }

    /// How many index scans a day costs.
    pub(super) fn scans_per_day(&self) -> usize {
        match Driver::of(self.filter) {
            Driver::Time => 1,
            Driver::Column(_, values) => values.len(),
        }
    }

    /// Candidates come from the index in order and are judged one by one, so that PostgreSQL stops
    /// when it has enough. The last one looked at is returned even if it is not asked for: it tells
    /// how far the look got.
    fn query(&self, prefix: &str) -> QueryBuilder<Postgres> {
        let direction = match self.order {
            Order::NewestFirst => "DESC",
            Order::OldestFirst => "ASC",
        };
        let mut sql = QueryBuilder::new(prefix);
        sql.push(format_args!(
            "SELECT id, hit, CASE WHEN hit THEN {} END AS shown, is_last, number FROM (SELECT {COLUMNS}, (",
            H::SHOWN
        ));
        push_conditions(&mut sql, self.filter, &Driver::of(self.filter));
        sql.push(format_args!(
            ") IS TRUE AS hit, lead(id) OVER walked IS NULL AS is_last, row_number() OVER walked AS number
             FROM ("
        ));
        self.push_candidates(&mut sql, direction);
        sql.push(format_args!(" ORDER BY id {direction} LIMIT "));
        sql.push_bind(i64::from(self.events_most));
        sql.push(format_args!(
            ") AS candidate WINDOW walked AS (ORDER BY id {direction})) AS looked
             WHERE hit OR is_last ORDER BY id {direction} LIMIT "
        ));
        sql.push_bind(i64::from(self.hits_most));
        sql
    }

    fn push_candidates(&self, sql: &mut QueryBuilder<Postgres>, direction: &str) {
        let Driver::Column(column, values) = Driver::of(self.filter) else {
            return self.push_stretch(sql);
        };
        // One scan for each value, merged: a single one over all values would not be in order. Each is
        // ordered and limited for itself, or PostgreSQL 15 would read them all and sort.
        sql.push(format_args!("SELECT {COLUMNS} FROM ("));
        for (number, value) in values.iter().enumerate() {
            sql.push(if number > 0 { " UNION ALL (" } else { "(" });
            self.push_stretch(sql);
            sql.push(format_args!(" AND {column} = "));
            sql.push_bind((*value).to_owned());
            sql.push(format_args!(" ORDER BY id {direction} LIMIT "));
            sql.push_bind(i64::from(self.events_most));
            sql.push(")");
        }
        sql.push(") AS by_value");
    }

    fn push_stretch(&self, sql: &mut QueryBuilder<Postgres>) {
        sql.push(format_args!(
            "SELECT {COLUMNS} FROM audit_events WHERE org_id = "
        ));
        sql.push_bind(self.org.uuid());
        sql.push(" AND id >= ");
        sql.push_bind(Uuid::from_u128(self.within.low));
        sql.push(" AND id < ");
        sql.push_bind(Uuid::from_u128(self.within.high));
    }
}

/// What the index has not decided. Means the same as [`Filter::matches`]; the filter is [folded](Filter::folded).
pub(super) fn push_conditions(
    sql: &mut QueryBuilder<Postgres>,
    filter: &Filter,
    driver: &Driver<'_>,
) {
    sql.push("true");
    for (column, values) in filter.texts() {
        if values.is_empty() || driver.is(column) {
            continue;
        }
        sql.push(format_args!(" AND {column} = ANY("));
        sql.push_bind(values.to_vec());
        sql.push(")");
    }
    if !filter.action.is_empty() && !driver.is("action") {
        let (whole, starts) = split(&filter.action);
        sql.push(" AND (action = ANY(");
        sql.push_bind(whole);
        // An alternative that no index serves, even an empty one, would keep PostgreSQL from using that of actions.
        if !starts.is_empty() {
            sql.push(") OR action ^@ ANY(");
            sql.push_bind(starts);
        }
        sql.push("))");
    }
    if !filter.source.is_empty() {
        let (whole, starts) = writers(&filter.source);
        sql.push(" AND (source = ANY(");
        sql.push_bind(whole);
        sql.push(") OR source ^@ ANY(");
        sql.push_bind(starts);
        sql.push("))");
    }
    if let Some(text) = &filter.q {
        // In the collation "C" only ASCII letters have a lower case.
        sql.push(" AND position(");
        sql.push_bind(text.clone());
        sql.push(" IN lower(body COLLATE \"C\")) > 0");
    }
    if let Some(query) = &filter.query {
        push_terms(sql, query.query());
    }
}

/// Whole actions, and starts of some.
pub(super) fn split(patterns: &[ActionPattern]) -> (Vec<String>, Vec<String>) {
    let (mut whole, mut starts) = (Vec::new(), Vec::new());
    for pattern in patterns {
        match pattern {
            ActionPattern::Is(action) => whole.push(action.clone()),
            ActionPattern::StartsWith(start) => starts.push(start.clone()),
        }
    }
    (whole, starts)
}

/// What a `source` is, and what some start with.
pub(super) fn writers(patterns: &[SourcePattern]) -> (Vec<String>, Vec<String>) {
    let (mut whole, mut starts) = (Vec::new(), Vec::new());
    for pattern in patterns {
        match pattern {
            SourcePattern::Is(writer) => whole.push(writer.to_string()),
            SourcePattern::AnyKey => starts.push(SourcePattern::KEYS_START.to_owned()),
        }
    }
    (whole, starts)
}
