//! How far each journal stream has been applied, and the rule that makes applying exactly-once.
//!
//! Rows and position move in one transaction, and only from the position the writer believed in:
//! of two writers that race, one finds the row moved and is told where to go on.

use domain::Timestamp;
use sqlx::{PgConnection, Postgres, Transaction, types::time::OffsetDateTime};

use crate::{
    Error, Store,
    times::{from_database, to_database},
};

/// A journal stream as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub stream: String,
    /// Tells this stream from an earlier one of the same name.
    pub created: String,
}

/// A run of messages of one stream: everything after `from`, up to and including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub to: u64,
    /// When the last of them was stored, if that is known.
    pub stored_ns: Option<i64>,
}

impl Span {
    /// Of which is not known when the last was stored.
    pub fn new(from: u64, to: u64) -> Self {
        Self {
            from,
            to,
            stored_ns: None,
        }
    }
}

/// A message that was applied, as the journal stored it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    pub sequence: u64,
    pub stored_ns: i64,
}

/// What became of applying a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Done,
    /// Somebody else applied it; go on from here.
    MovedTo(u64),
}

impl Store {
    /// The position up to which `source` has been applied; zero for one never seen.
    pub async fn watermark(&self, source: &Source) -> Result<u64, Error> {
        let mut connection = self.pool.acquire().await?;
        position(&mut connection, source).await
    }

    /// The last message of `source` that was applied; `None` if nobody noted it.
    pub async fn milestone(&self, source: &Source) -> Result<Option<Milestone>, Error> {
        let noted: Option<(Option<i64>, Option<i64>)> = sqlx::query_as(
            "SELECT milestone_sequence, milestone_stored_ns FROM journal_watermark
             WHERE stream = $1 AND stream_created = $2",
        )
        .bind(&source.stream)
        .bind(&source.created)
        .fetch_optional(&self.pool)
        .await?;
        let Some((Some(sequence), Some(stored_ns))) = noted else {
            return Ok(None);
        };
        let sequence = unsigned(sequence);
        Ok(Some(Milestone {
            sequence,
            stored_ns,
        }))
    }

    /// Has `source` applied from its beginning again, if it still stands at `position`: the journal was
    /// put back to an earlier state. What is applied a second time is recognized by its keys, and what has
    /// none by its time ([`count_up_to`]).
    pub async fn start_over(&self, source: &Source, position: u64) -> Result<(), Error> {
        sqlx::query(
            "UPDATE journal_watermark SET applied_sequence = 0, counted_before = counted_at,
                                          milestone_sequence = NULL, milestone_stored_ns = NULL
             WHERE stream = $1 AND stream_created = $2 AND applied_sequence = $3",
        )
        .bind(&source.stream)
        .bind(&source.created)
        .bind(signed(position))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

pub(crate) async fn position(connection: &mut PgConnection, source: &Source) -> Result<u64, Error> {
    let applied: Option<i64> = sqlx::query_scalar(
        "SELECT applied_sequence FROM journal_watermark WHERE stream = $1 AND stream_created = $2",
    )
    .bind(&source.stream)
    .bind(&source.created)
    .fetch_optional(connection)
    .await?;
    Ok(applied.map_or(0, unsigned))
}

/// Claims `span` within a transaction: moves the position if it is still `span.from`.
pub(crate) async fn claim(
    transaction: &mut Transaction<'_, Postgres>,
    source: &Source,
    span: Span,
) -> Result<Applied, Error> {
    // Nearly always this is all that is asked.
    if moved(transaction, source, span).await? {
        return Ok(Applied::Done);
    }
    // A stream that was lost and made again starts over: its row is replaced, and what is applied
    // a second time is recognized as above.
    sqlx::query(
        "INSERT INTO journal_watermark (stream, stream_created, applied_sequence) VALUES ($1, $2, 0)
         ON CONFLICT (stream) DO UPDATE SET stream_created = $2, applied_sequence = 0,
                                            counted_before = journal_watermark.counted_at,
                                            milestone_sequence = NULL, milestone_stored_ns = NULL
         WHERE journal_watermark.stream_created <> $2",
    )
    .bind(&source.stream)
    .bind(&source.created)
    .execute(&mut **transaction)
    .await?;
    if moved(transaction, source, span).await? {
        return Ok(Applied::Done);
    }
    Ok(Applied::MovedTo(position(transaction, source).await?))
}

/// Moves the position of a stream that is known, if it is where the span begins; whether it did.
async fn moved(
    transaction: &mut Transaction<'_, Postgres>,
    source: &Source,
    span: Span,
) -> Result<bool, Error> {
    let moved = sqlx::query(
        "UPDATE journal_watermark
         SET applied_sequence = $3, milestone_sequence = $3, milestone_stored_ns = $5
         WHERE stream = $1 AND stream_created = $2 AND applied_sequence = $4",
    )
    .bind(&source.stream)
    .bind(&source.created)
    .bind(signed(span.to))
    .bind(signed(span.from))
    .bind(span.stored_ns)
    .execute(&mut **transaction)
    .await?;
    Ok(moved.rows_affected() == 1)
}

/// Notes that what a span says up to `at` is counted, where there is no row to recognize it by; up to when it was
/// counted before the stream started over, if it did.
///
/// Whatever came after that is later: times are those of events as they were received, and of one rule they never go
/// back. Only what was received within that time by a clock that is behind, after the stream was put back, is taken for
/// counted though it was not.
pub(crate) async fn count_up_to(
    transaction: &mut Transaction<'_, Postgres>,
    source: &Source,
    at: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let counted_before: Option<OffsetDateTime> = sqlx::query_scalar(
        "UPDATE journal_watermark SET counted_at = GREATEST(counted_at, $2) WHERE stream = $1
         RETURNING counted_before",
    )
    .bind(&source.stream)
    .bind(to_database(at))
    .fetch_one(&mut **transaction)
    .await?;
    Ok(counted_before.map(from_database))
}

fn signed(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

fn unsigned(sequence: i64) -> u64 {
    u64::try_from(sequence).unwrap_or(0)
}
