//! Writes events, with the position in the journal that they came from.

use std::collections::BTreeSet;

use domain::{EventId, OrgId, Timestamp};
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use crate::{
    Error, Store,
    copy::Rows,
    partitions::{self, Table},
    times::to_database,
    watermark::{self, Applied, Source, Span},
};

/// From this many rows on COPY is faster than one INSERT. Below it COPY is slower by far: sqlx leaves
/// Nagle's algorithm on, so the end of a COPY waits until PostgreSQL's kernel acknowledges the data,
/// which it puts off for 40 ms.
const ROWS_TO_COPY: usize = 500;

/// Named, because a newer version may have added some.
macro_rules! columns {
    () => {
        "org_id, id, received_at, event_type, agent_id, action, result, severity, session_id, trace_id, decision_id, body"
    };
}

/// One event as it is indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow<'a> {
    pub org: OrgId,
    pub id: EventId,
    pub received_at: Timestamp,
    pub event_type: &'a str,
    pub agent_id: &'a str,
    pub action: &'a str,
    pub result: &'a str,
    pub severity: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub trace_id: Option<&'a str>,
    pub decision_id: Option<&'a str>,
    pub json: &'a str,
}

/// Writes events through a connection of its own, where COPY has a staging table.
#[derive(Debug)]
pub struct EventIndex {
    connection: PgConnection,
    days: BTreeSet<u128>,
}

impl Store {
    pub async fn event_index(&self) -> Result<EventIndex, Error> {
        let mut connection = self.pool.acquire().await?.detach();
        // An event sent twice must be listed once, and COPY cannot skip a row it has: so COPY goes
        // to a table without keys first.
        sqlx::query("CREATE TEMP TABLE arriving_events (LIKE audit_events) ON COMMIT DELETE ROWS")
            .execute(&mut connection)
            .await?;
        Ok(EventIndex {
            connection,
            days: BTreeSet::new(),
        })
    }
}

impl EventIndex {
    /// Applies a span of the event log: rows and position together, or neither.
    pub async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        rows: &[EventRow<'_>],
    ) -> Result<Applied, Error> {
        let mut transaction = self.connection.begin().await?;
        if let Applied::MovedTo(position) = watermark::claim(&mut transaction, source, span).await?
        {
            return Ok(Applied::MovedTo(position));
        }
        if !rows.is_empty() {
            let keys = rows.iter().map(|row| row.id.uuid());
            partitions::ensure(&mut transaction, Table::AuditEvents, keys, &mut self.days).await?;
            if rows.len() < ROWS_TO_COPY {
                insert(&mut transaction, rows).await?;
            } else {
                copy(&mut transaction, rows).await?;
            }
        }
        transaction.commit().await?;
        Ok(Applied::Done)
    }
}

/// An event that is there already is not written again.
async fn insert(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[EventRow<'_>],
) -> Result<(), Error> {
    let uuids = |value: fn(&EventRow<'_>) -> Uuid| rows.iter().map(value).collect::<Vec<_>>();
    let texts =
        |value: for<'a> fn(&'a EventRow<'_>) -> &'a str| rows.iter().map(value).collect::<Vec<_>>();
    let maybe = |value: for<'a> fn(&'a EventRow<'_>) -> Option<&'a str>| {
        rows.iter().map(value).collect::<Vec<_>>()
    };
    sqlx::query(
        concat!(
            "INSERT INTO audit_events (",
            columns!(),
            ") SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[],
                 $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
             ON CONFLICT DO NOTHING"
        ),
    )
    .bind(uuids(|row| row.org.uuid()))
    .bind(uuids(|row| row.id.uuid()))
    .bind(
        rows.iter()
            .map(|row| to_database(row.received_at))
            .collect::<Vec<_>>(),
    )
    .bind(texts(|row| row.event_type))
    .bind(texts(|row| row.agent_id))
    .bind(texts(|row| row.action))
    .bind(texts(|row| row.result))
    .bind(maybe(|row| row.severity))
    .bind(maybe(|row| row.session_id))
    .bind(maybe(|row| row.trace_id))
    .bind(maybe(|row| row.decision_id))
    .bind(texts(|row| row.json))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// The same through the staging table.
async fn copy(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[EventRow<'_>],
) -> Result<(), Error> {
    let mut copy = transaction
        .copy_in_raw(concat!(
            "COPY arriving_events (",
            columns!(),
            ") FROM STDIN (FORMAT binary)"
        ))
        .await?;
    copy.send(encode(rows)).await?;
    copy.finish().await?;
    sqlx::query(concat!(
        "INSERT INTO audit_events (",
        columns!(),
        ") SELECT ",
        columns!(),
        " FROM arriving_events ON CONFLICT DO NOTHING"
    ))
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// A row's fields, in the order of [`columns`].
fn encode(rows: &[EventRow<'_>]) -> Vec<u8> {
    const COLUMNS: i16 = 12;
    let mut encoded = Rows::new(COLUMNS);
    for event in rows {
        encoded
            .row()
            .uuid(event.org.uuid())
            .uuid(event.id.uuid())
            .time(event.received_at)
            .text(event.event_type)
            .text(event.agent_id)
            .text(event.action)
            .text(event.result)
            .text_or_null(event.severity)
            .text_or_null(event.session_id)
            .text_or_null(event.trace_id)
            .text_or_null(event.decision_id)
            .text(event.json);
    }
    encoded.finish()
}
