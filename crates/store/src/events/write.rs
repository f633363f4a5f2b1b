//! Puts events into the table, each once, by the cheapest way that is safe for it.
//!
//! An event with a random id comes once: rows and position move together, so nothing is applied a
//! second time. Such events are copied straight into the table. An event that the client named may
//! come again, and COPY cannot skip what is there: those go through a table without keys first.

use std::collections::HashSet;

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::EventRow;
use crate::{Error, copy::Rows, times::to_database};

/// From this many rows on COPY is faster than one INSERT. Below it COPY is slower by far: sqlx leaves
/// Nagle's algorithm on, so the end of a COPY waits until PostgreSQL's kernel acknowledges the data,
/// which it puts off for 40 ms.
const ROWS_TO_COPY: usize = 500;

/// How much is sent at a time: more than PostgreSQL reads at once, so that it has work while the next piece is made, and
/// little beside a batch, all of which would wait in memory otherwise.
const PIECE_BYTES: usize = 128 * 1024;

/// Named, because a newer version may have added some.
macro_rules! columns {
    () => {
        "org_id, id, received_at, event_type, agent_id, action, result, severity, session_id, trace_id, decision_id, source, body, salt"
    };
}

/// The table that [`Way::Checked`] copies into first, on a writer's own connection.
pub(super) const STAGING_TABLE: &str =
    "CREATE TEMP TABLE arriving_events (LIKE audit_events) ON COMMIT DELETE ROWS";

/// How far the ids of a batch are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Random ids are new: a conflict if one is not.
    Straight,
    /// Any event may be there already: after a stream was lost and made again, or the database was
    /// put back to an earlier state.
    Checked,
}

/// A row, and which of those to be written it is.
pub(super) type Numbered<'r, 'e> = (usize, &'r EventRow<'e>);

/// Writes the rows that are not there yet, and passes on each that it writes: the copied ones first, whatever their numbers.
pub(super) async fn write<'r, 'e>(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &'r [EventRow<'e>],
    way: Way,
    mut on_written: impl FnMut(Numbered<'r, 'e>),
) -> Result<(), Error> {
    let comes_once = |(_, row): &Numbered<'_, '_>| way == Way::Straight && !row.id.is_derived();
    let (once, again): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(comes_once);
    // Few are inserted all alike, in one statement.
    let (copied, inserted) = if once.len() < ROWS_TO_COPY {
        (Vec::new(), rows.iter().enumerate().collect())
    } else {
        (once, again)
    };
    if !copied.is_empty() {
        copy(transaction, Target::Events, &copied, &mut on_written).await?;
    }
    let mut new = insert_new(transaction, &inserted).await?;
    for (number, row) in inserted {
        // Taken out as it is met: of two rows of one event the first was written.
        if new.remove(&(row.org.uuid(), row.id.uuid())) {
            on_written((number, row));
        }
    }
    Ok(())
}

/// Writes the rows that are not there yet, whatever their ids; returns their keys.
async fn insert_new(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[Numbered<'_, '_>],
) -> Result<HashSet<(Uuid, Uuid)>, Error> {
    if rows.is_empty() {
        return Ok(HashSet::new());
    }
    let written = if rows.len() < ROWS_TO_COPY {
        insert(transaction, rows).await?
    } else {
        copy(transaction, Target::Staging, rows, |_| {}).await?;
        insert_from_staging(transaction).await?
    };
    Ok(written.into_iter().collect())
}

async fn insert(
    transaction: &mut Transaction<'_, Postgres>,
    rows: &[Numbered<'_, '_>],
) -> Result<Vec<(Uuid, Uuid)>, Error> {
    let uuids = |value: fn(&EventRow<'_>) -> Uuid| {
        rows.iter().map(|(_, row)| value(row)).collect::<Vec<_>>()
    };
    let texts = |value: for<'a> fn(&'a EventRow<'_>) -> &'a str| {
        rows.iter().map(|(_, row)| value(row)).collect::<Vec<_>>()
    };
    let maybe = |value: for<'a> fn(&'a EventRow<'_>) -> Option<&'a str>| {
        rows.iter().map(|(_, row)| value(row)).collect::<Vec<_>>()
    };
    let times = rows.iter().map(|(_, row)| to_database(row.received_at));
    let written = sqlx::query_as(concat!(
        "INSERT INTO audit_events (",
        columns!(),
        ") SELECT ",
        columns!(),
        " FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[],
               $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[]) AS row (",
        columns!(),
        ") ON CONFLICT DO NOTHING RETURNING org_id, id"
    ))
    .bind(uuids(|row| row.org.uuid()))
    .bind(uuids(|row| row.id.uuid()))
    .bind(times.collect::<Vec<_>>())
    .bind(texts(|row| row.event_type))
    .bind(texts(|row| row.agent_id))
    .bind(texts(|row| row.action))
    .bind(texts(|row| row.result))
    .bind(maybe(|row| row.severity))
    .bind(maybe(|row| row.session_id))
    .bind(maybe(|row| row.trace_id))
    .bind(maybe(|row| row.decision_id))
    .bind(maybe(|row| row.source))
    .bind(texts(|row| row.json))
    .bind(rows.iter().map(|(_, row)| row.salt.0.as_slice()).collect::<Vec<_>>())
    .fetch_all(&mut **transaction)
    .await?;
    Ok(written)
}

/// Where COPY puts its rows.
#[derive(Clone, Copy)]
enum Target {
    Events,
    Staging,
}

/// Copies rows, and passes each on: what is done with it is done while PostgreSQL writes those before it.
async fn copy<'r, 'e>(
    transaction: &mut Transaction<'_, Postgres>,
    target: Target,
    rows: &[Numbered<'r, 'e>],
    mut on_sent: impl FnMut(Numbered<'r, 'e>),
) -> Result<(), Error> {
    const COLUMNS: i16 = 14;
    let statement = match target {
        Target::Events => concat!(
            "COPY audit_events (",
            columns!(),
            ") FROM STDIN (FORMAT binary)"
        ),
        Target::Staging => concat!(
            "COPY arriving_events (",
            columns!(),
            ") FROM STDIN (FORMAT binary)"
        ),
    };
    let mut copy = transaction.copy_in_raw(statement).await?;
    let mut encoded = Rows::new(COLUMNS);
    for (number, row) in rows {
        encode(row, &mut encoded);
        on_sent((*number, row));
        if encoded.piece().len() >= PIECE_BYTES {
            copy.send(encoded.piece()).await?;
            encoded.next_piece();
        }
    }
    copy.send(encoded.finish()).await?;
    copy.finish().await?;
    Ok(())
}

async fn insert_from_staging(
    transaction: &mut Transaction<'_, Postgres>,
) -> Result<Vec<(Uuid, Uuid)>, Error> {
    let written = sqlx::query_as(concat!(
        "INSERT INTO audit_events (",
        columns!(),
        ") SELECT ",
        columns!(),
        " FROM arriving_events ON CONFLICT DO NOTHING RETURNING org_id, id"
    ))
    .fetch_all(&mut **transaction)
    .await?;
    Ok(written)
}

/// A row's fields, in the order of [`columns`].
fn encode(event: &EventRow<'_>, encoded: &mut Rows) {
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
        .text_or_null(event.source)
        .text(event.json)
        .bytes(&event.salt.0);
}
