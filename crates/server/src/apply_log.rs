//! Applies a log to the store, exactly once: rows and position move in one transaction.
//!
//! The index of events and the record of deliveries differ only in what they write, so that part is
//! a [`Sink`]. Normally one process has the lease of a log and applies it. Two that apply the same log
//! are wasteful but never wrong: one moves the position, the other is told where to go on.
//!
//! What is paid in the store is paid for each transaction. So there is a pause between two of them, in which more comes
//! together; but none while we are behind, nor while somebody waits to read what is there.
//!
//! A record that cannot be applied never holds up those behind it: it becomes a dead letter
//! ([`crate::dead_letters`]) before the position moves past it. One that a newer version of us wrote
//! does hold them up, until that version reads it.
//!
//! Memory is bounded for each log, however far behind it is: 12 MiB that wait to be read, a batch of
//! 8 MiB, and its rows as fields; COPY sends them in small pieces. While PostgreSQL is away nothing
//! is read.

use std::{ops::Range, pin::pin, time::Duration};

use domain::clock::Clock;
use journal::{
    Journal, dead_letters::Place, follow::Entry, log_state::LogState, salt::MessageSalt,
    streams::Log,
};
use runtime::{error_chain::chain, random, retry::Retries};
use store::{
    Store,
    watermark::{Applied, Source, Span},
    writer::Writer,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{
    dead_letters::{self, Unfit},
    fresh_reads,
    telemetry::metrics as names,
};

/// How many messages go into one transaction; the follower bounds their bytes.
const MESSAGES_MAX: usize = 512;
/// How long one transaction begins after the one before it. The synced commit and the counts, of which a few events change
/// nearly as many as many events do, are most of what a small transaction costs. It is far below the 2 s after which the
/// journal sends a message again.
const GATHER: Duration = Duration::from_millis(500);
/// How long one wait for the lease lasts. If nothing was applied for so long although there is
/// something to apply, its holder hangs, and we go on without it.
const LEASE_WAIT: Duration = Duration::from_secs(4);
/// After a turn of this length the lease goes to a process that waits for it, if one does: so the logs
/// spread over the processes. The lengths differ, or all would change hands at once.
const TURN_MIN: Duration = Duration::from_secs(5);
const TURN_SPREAD_MILLIS: u64 = 10_000;

/// Where the records of a log go.
pub(crate) trait Sink: Send + Sized {
    /// The kind of log, for metrics and people.
    const LOG: &'static str;
    type Record<'m>: Send + Sync;

    /// Made anew after each failure.
    fn open(store: &Store) -> impl Future<Output = Result<Self, store::Error>> + Send;

    fn writer(&mut self) -> &mut Writer;

    /// The records of a message; one that cannot be read says so.
    fn read(
        message: &[u8],
        salt: MessageSalt,
    ) -> Result<Vec<Result<Self::Record<'_>, Unfit>>, journal::Error>;

    /// A record that the store refused, alone.
    fn unfit(record: &Self::Record<'_>, reason: String) -> Unfit;

    /// Writes what the records say and moves the position, together or not at all.
    fn apply(
        &mut self,
        source: &Source,
        span: Span,
        records: &[Self::Record<'_>],
    ) -> impl Future<Output = Result<Applied, store::Error>> + Send;

    /// Writes what the records of a dead letter say, once: it is told from others by its place.
    fn redrive(
        &mut self,
        place: &str,
        records: &[Self::Record<'_>],
    ) -> impl Future<Output = Result<(), store::Error>> + Send;

    /// Whether the records would be written; nothing is.
    fn rehearse(
        &mut self,
        records: &[Self::Record<'_>],
    ) -> impl Future<Output = Result<(), store::Error>> + Send;
}

/// Either side of the work may fail; both are tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What applying a log needs.
pub(crate) struct Applier {
    pub(crate) journal: Journal,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) log: Log,
}

impl Applier {
    /// Applies the log until stopped.
    pub(crate) async fn run<S: Sink>(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let what = format!("apply {}", self.journal.log_name(self.log));
        let mut retries = Retries::new(what, &stopping);
        let mut told = None;
        while retries
            .again(self.apply_all::<S>(&mut told, &stopping).await)
            .await
        {}
        Ok(())
    }

    /// `told`: the position behind which there was a gap, if that was told.
    async fn apply_all<S: Sink>(
        &self,
        told: &mut Option<u64>,
        stopping: &CancellationToken,
    ) -> Result<(), Error> {
        let mut sink = S::open(&self.store).await?;
        let is_ours = tokio::select! {
            is_ours = self.wait_for_turn(&mut sink) => is_ours?,
            () = stopping.cancelled() => return Ok(()),
        };
        let mut turn = LeaseTerm::new(is_ours);
        let (source, mut position) = self.start::<S>(told).await?;
        let mut follower = self.journal.follow(self.log, position);
        let mut wakes = self.journal.wakes(self.log).await?;
        let (mut entries, mut gathered_at) = (Vec::new(), Instant::now());
        loop {
            // What was applied, by us or by somebody else meanwhile.
            entries.retain(|entry: &Entry| entry.sequence > position);
            if entries.is_empty() {
                tokio::select! {
                    () = sleep_until(gathered_at) => {}
                    () = wakes.beyond(position) => {}
                    () = stopping.cancelled() => return Ok(()),
                }
                entries = {
                    // Kept when a turn ends: to give it up could lose what it has read.
                    let mut next = pin!(follower.next(MESSAGES_MAX));
                    loop {
                        tokio::select! {
                            entries = &mut next => break entries?,
                            () = sleep_until(turn.ends) => {}
                            () = stopping.cancelled() => return Ok(()),
                        }
                        if !self
                            .may_go_on(&mut sink, &source, position, &mut turn)
                            .await?
                        {
                            return Ok(());
                        }
                    }
                };
                let pause = if follower.is_behind() {
                    Duration::ZERO
                } else {
                    GATHER
                };
                gathered_at = Instant::now() + pause;
                continue;
            }
            match self.apply(&mut sink, &source, position, &entries).await? {
                (Applied::Done, reached) => position = reached,
                (Applied::MovedTo(further), _) if turn.is_ours && further > position => {
                    position = further;
                }
                // The one who has the lease works again; or the store was put back to an earlier
                // state, or the log is another one: start over.
                (Applied::MovedTo(_), _) => return Ok(()),
            }
            if Instant::now() > turn.ends
                && !self
                    .may_go_on(&mut sink, &source, position, &mut turn)
                    .await?
            {
                return Ok(());
            }
        }
    }

    /// The log as it is now that we apply it, and the position to go on from.
    async fn start<S: Sink>(&self, told: &mut Option<u64>) -> Result<(Source, u64), Error> {
        let created = self.journal.log_state(self.log).await?.created;
        let source = fresh_reads::source(&self.journal, self.log, created);
        // Asked for before the log's end, which another may move and then apply.
        let position = self.store.watermark(&source).await?;
        let state = self.journal.log_state(self.log).await?;
        if self.is_rolled_back(&source, &state, position).await? {
            let (end, log) = (state.last_sequence, &source.stream);
            tracing::error!(
                log,
                position,
                end,
                "the end of the journal is missing; starting over"
            );
            self.store.start_over(&source, position).await?;
            return Ok((source, 0));
        }
        // One that has to be passed again, because applying failed, is the same.
        if state.first_sequence > position + 1 && told.replace(position) != Some(position) {
            let (first, log) = (state.first_sequence, &source.stream);
            tracing::error!(
                log,
                position,
                first,
                "the journal dropped records before they were applied"
            );
            metrics::counter!(names::JOURNAL_GAPS, "log" => S::LOG).increment(1);
        }
        Ok((source, position))
    }

    /// Whether the log was put back to an earlier state: it has less than was applied, or another message where it was applied
    /// up to.
    async fn is_rolled_back(
        &self,
        source: &Source,
        state: &LogState,
        position: u64,
    ) -> Result<bool, Error> {
        if state.last_sequence < position {
            return Ok(true);
        }
        let milestone = self.store.milestone(source).await?;
        // A version that knows no milestones may have started over since.
        let Some(milestone) = milestone.filter(|it| it.sequence <= position) else {
            return Ok(false);
        };
        let there = self.journal.stored_ns(self.log, milestone.sequence).await?;
        Ok(there.is_some_and(|there| there != milestone.stored_ns))
    }

    /// At the end of a turn: whether the log is still the one that it was, and the lease ours or
    /// nobody's who works.
    async fn may_go_on<S: Sink>(
        &self,
        sink: &mut S,
        source: &Source,
        position: u64,
        turn: &mut LeaseTerm,
    ) -> Result<bool, Error> {
        let state = self.journal.log_state(self.log).await?;
        if state.created != source.created || self.is_rolled_back(source, &state, position).await? {
            return Ok(false);
        }
        let is_still_ours = sink.writer().offer_lease(&source.stream).await?;
        if turn.is_ours && !is_still_ours {
            return Ok(false);
        }
        *turn = LeaseTerm::new(is_still_ours);
        Ok(true)
    }

    /// Waits until the lease is ours (`true`), or its holder does not do its work (`false`).
    async fn wait_for_turn<S: Sink>(&self, sink: &mut S) -> Result<bool, Error> {
        let stream = self.journal.log_name(self.log);
        let mut stood_at = None;
        while !sink.writer().take_lease(&stream, LEASE_WAIT).await? {
            let state = self.journal.log_state(self.log).await?;
            let source = fresh_reads::source(&self.journal, self.log, state.created);
            let applied = self.store.watermark(&source).await?;
            let is_behind = applied < state.last_sequence;
            if is_behind && stood_at == Some(applied) {
                tracing::warn!(
                    log = stream,
                    "the writer of this log hangs; another is taking over"
                );
                if !sink.writer().end_hanging_holder(&stream).await? {
                    return Ok(false);
                }
            }
            stood_at = is_behind.then_some(applied);
        }
        Ok(true)
    }

    /// Applies a batch, and says up to where. What cannot be applied becomes dead letters first.
    async fn apply<S: Sink>(
        &self,
        sink: &mut S,
        source: &Source,
        position: u64,
        entries: &[Entry],
    ) -> Result<(Applied, u64), Error> {
        let mut batch = Batch::<S>::read(entries)?;
        let span = Span {
            from: position,
            to: batch.reached,
            stored_ns: batch.reached_ns,
        };
        self.put_aside::<S>(source, &mut batch.unfit).await?;
        let applied = match sink.apply(source, span, &batch.records).await {
            Err(error) if error.refuses_data() => {
                batch.sort_out(sink).await?;
                if batch.unfit.is_empty() {
                    // Each by itself would be taken; nobody knows which to leave out.
                    return Err(error.into());
                }
                self.put_aside::<S>(source, &mut batch.unfit).await?;
                sink.apply(source, span, &batch.records).await?
            }
            outcome => outcome?,
        };
        Ok((applied, span.to))
    }

    async fn put_aside<S: Sink>(
        &self,
        source: &Source,
        unfit: &mut Vec<(Spot, Unfit)>,
    ) -> Result<(), journal::Error> {
        for (spot, unfit) in unfit.drain(..) {
            let place = Place {
                log: self.log,
                created: source.created.clone(),
                sequence: spot.sequence,
                number: spot.number,
            };
            dead_letters::put(&self.journal, S::LOG, &place, self.clock.now(), &unfit).await?;
        }
        Ok(())
    }
}

/// Where in the log a record stands.
#[derive(Clone, Copy)]
struct Spot {
    sequence: u64,
    /// Which of the message's records.
    number: usize,
}

/// The records of some messages, and those among them that cannot be applied.
struct Batch<'e, S: Sink> {
    records: Vec<S::Record<'e>>,
    /// Of each record.
    spots: Vec<Spot>,
    unfit: Vec<(Spot, Unfit)>,
    /// The sequence of the last message read.
    reached: u64,
    /// When it was stored.
    reached_ns: Option<i64>,
}

impl<'e, S: Sink> Batch<'e, S> {
    /// Ends before a message that a newer version wrote, so that it holds up only those behind it; an
    /// error if that is the first.
    fn read(entries: &'e [Entry]) -> Result<Self, journal::Error> {
        let (records, spots, unfit) = (Vec::new(), Vec::new(), Vec::new());
        let mut batch = Self {
            records,
            spots,
            unfit,
            reached: 0,
            reached_ns: None,
        };
        for entry in entries {
            let sequence = entry.sequence;
            let records = match S::read(&entry.payload, entry.salt) {
                Err(error @ journal::Error::Corrupt { .. }) => {
                    vec![Err(Unfit {
                        what: format!("message {sequence}"),
                        reason: error.to_string(),
                        message: entry.payload.to_vec(),
                    })]
                }
                Err(journal::Error::Newer { .. }) if batch.reached > 0 => break,
                records => records?,
            };
            batch.reached = sequence;
            batch.reached_ns = Some(entry.stored_ns);
            for (number, record) in records.into_iter().enumerate() {
                let spot = Spot { sequence, number };
                match record {
                    Ok(record) => {
                        batch.records.push(record);
                        batch.spots.push(spot);
                    }
                    Err(unfit) => batch.unfit.push((spot, unfit)),
                }
            }
        }
        Ok(batch)
    }

    /// Moves the records that the store will never take to the unfit ones. Halves what it refuses, so
    /// one bad record of a thousand is found in twenty rehearsals; of `n` bad ones, `2n` find all.
    async fn sort_out(&mut self, sink: &mut S) -> Result<(), store::Error> {
        let all = 0..self.records.len();
        let mut suspects = vec![all];
        let mut refused = Vec::new();
        while let Some(range) = suspects.pop() {
            match sink.rehearse(&self.records[range.clone()]).await {
                Err(error) if error.refuses_data() => match halves(&range) {
                    Some(halves) => suspects.extend(halves),
                    None => refused.push((range.start, chain(&error))),
                },
                outcome => outcome?,
            }
        }
        // They were found from behind, so those before stay where they are.
        for (index, reason) in refused {
            let (record, spot) = (self.records.remove(index), self.spots.remove(index));
            self.unfit.push((spot, S::unfit(&record, reason)));
        }
        Ok(())
    }
}

/// `None` if there is but one.
fn halves(range: &Range<usize>) -> Option<[Range<usize>; 2]> {
    let middle = range.start + range.len() / 2;
    (range.len() > 1).then_some([range.start..middle, middle..range.end])
}

/// How long a log is applied before somebody else may.
struct LeaseTerm {
    /// Whether the lease is; if not, its holder hangs.
    is_ours: bool,
    ends: Instant,
}

impl LeaseTerm {
    fn new(is_ours: bool) -> Self {
        let random = u64::from(u16::from_be_bytes(random::bytes()));
        let length = TURN_MIN + Duration::from_millis(random % TURN_SPREAD_MILLIS);
        let ends = Instant::now() + length;
        Self { is_ours, ends }
    }
}
