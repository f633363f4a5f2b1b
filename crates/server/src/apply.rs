//! Applies a log to the store, exactly once: rows and position move in one transaction.
//!
//! The index of events and the record of deliveries differ only in what they write, so that part is
//! a [`Sink`]. Two processes that apply the same log are wasteful but never wrong: one moves the
//! position, the other is told where to go on.

use journal::{Journal, follow::Entry, streams::Log};
use store::{
    Store,
    watermark::{Applied, Source, Span},
};
use tokio_util::sync::CancellationToken;

use crate::{fresh, retry::Retries, telemetry};

/// How many messages go into one transaction; a message has at most 512 KiB.
const MESSAGES_MAX: usize = 64;

/// Where the entries of a log go.
pub(crate) trait Sink: Send + Sized {
    /// Made anew after each failure.
    fn open(store: &Store) -> impl Future<Output = Result<Self, store::Error>> + Send;

    /// Writes what `entries` say and moves the position, together or not at all.
    fn apply(
        &mut self,
        source: &Source,
        span: Span,
        entries: &[Entry],
    ) -> impl Future<Output = Result<Applied, Error>> + Send;
}

/// What an entry holds. One that is broken is an alarm and never holds up those behind it; one that a
/// newer version of us wrote does, until that version reads it, because skipping it would lose it.
pub(crate) fn readable<'e, R>(
    log: &'static str,
    entry: &'e Entry,
    decode: impl Fn(&'e [u8]) -> Result<Vec<R>, journal::Error>,
) -> Result<Vec<R>, journal::Error> {
    match decode(&entry.payload) {
        Err(error @ journal::Error::Corrupt { .. }) => {
            telemetry::unreadable(log, entry.sequence, &error);
            Ok(Vec::new())
        }
        decoded => decoded,
    }
}

/// Either side of the work may fail; both are tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Applies `log` until stopped.
pub(crate) async fn run<S: Sink>(
    journal: Journal,
    store: Store,
    log: Log,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let mut retries = Retries::new(format!("apply {}", journal.log_name(log)), &stopping);
    while retries
        .again(apply_all::<S>(&journal, &store, log, &stopping).await)
        .await
    {}
    Ok(())
}

async fn apply_all<S: Sink>(
    journal: &Journal,
    store: &Store,
    log: Log,
    stopping: &CancellationToken,
) -> Result<(), Error> {
    let created = journal.log_state(log).await?.created;
    let source = fresh::source(journal, log, created);
    let mut sink = S::open(store).await?;
    let mut position = store.watermark(&source).await?;
    let mut follower = journal.follow(log, position);
    let mut entries = Vec::new();
    loop {
        if entries.is_empty() {
            entries = tokio::select! {
                entries = follower.next(MESSAGES_MAX) => entries?,
                () = stopping.cancelled() => return Ok(()),
            };
        }
        // What somebody else has applied meanwhile.
        entries.retain(|entry| entry.sequence > position);
        let Some(last) = entries.last() else { continue };
        let span = Span {
            from: position,
            to: last.sequence,
        };
        match sink.apply(&source, span, &entries).await? {
            Applied::Done => {
                position = span.to;
                entries.clear();
            }
            Applied::MovedTo(further) if further > position => position = further,
            // The store was put back to an earlier state, or the log is another one: start over.
            Applied::MovedTo(_) => return Ok(()),
        }
    }
}
