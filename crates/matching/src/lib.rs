//! Turns events into deliveries: one task per partition.
//!
//! The cast: [`memory`] is what a matcher knows (how far it is, and the pace of every rule that has a
//! threshold or suppresses), [`judge`] puts events before the rules, [`chain`] puts what was decided on
//! record and queues it, [`resume`] reads the record to go on where another matcher was, and [`again`] queues what that
//! one may not have queued. [`world`] is what they ask for all that: the journal, the rules and the clock, so that the
//! simulation can walk the very same code through schedules that no machine would show.
//!
//! For each batch of events: wait until the rules are current, judge, append what was decided to the
//! chain of judgements ([`journal::judged`]), queue the deliveries. How far we are, what we decided and
//! what a threshold has counted are one message, so they are all on record or none is. A crash before
//! it judges again, as if for the first time; a crash after it queues again what may not be queued yet, each judgement's
//! deliveries apart, so that they make the same messages and are recognised.
//!
//! A partition's events are judged in order by whoever has its turn ([`Journal::turns`]). A matcher that
//! dies loses it after three seconds; one that lives hands it back after a minute or two, so that the
//! partitions spread over the processes. Two that judge at once are told apart by the chain: one
//! appends, the other was overtaken, forgets what it thought and reads on.
//!
//! An event that the client sent again is in the log twice. Each match of an event that may come twice
//! is marked with the message it is of ([`journal::once`]): found in another message later, the event
//! sets off nothing.

mod again;
mod chain;
mod judge;
mod memory;
pub mod metrics;
mod resume;
mod rules;
#[cfg(test)]
mod simulation;
mod world;

use std::{pin::pin, sync::Arc, time::Duration};

use domain::{clock::Clock, partition::Partition};
use journal::{Journal, streams::Log, work::Task};
use runtime::{chance, retry::Retries};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

pub use rules::Rules;

use judge::MATCHES_AT_ONCE;
use memory::Memory;
use world::Node;

/// How many messages of events are judged at once; the follower bounds their bytes.
const MESSAGES_MAX: usize = 256;
/// How soon after the begin of a round the next one begins: each is two writes at least, whatever it decides.
const ROUND_MIN: Duration = Duration::from_millis(10);
/// After a turn of this length another process may have one. The lengths differ, or all partitions
/// would change hands at once.
const TURN_MIN: Duration = Duration::from_secs(60);
const TURN_SPREAD_MILLIS: u64 = 60_000;
/// How often whoever has a turn says so.
const STILL_HERE_EVERY: Duration = Duration::from_secs(1);
/// How long a position may be that is not on record: events that no rule wanted are judged again after
/// a crash, and nothing comes of it.
const CONFIRM_AFTER: Duration = Duration::from_millis(500);
/// How long after its end a period is ended, unless an event of its own ends it: those that came before
/// the end are in the journal by then, but for those that had to wait for it.
const END_AFTER: Duration = Duration::from_secs(1);
/// How soon to look again whether everything is judged that came before the end of a period.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Takes turns, and judges for as long as it has one.
pub struct Matcher {
    judge: Judge<Node>,
}

/// What is done in a turn.
struct Judge<W> {
    world: W,
    /// How many matches are put on record together.
    matches_at_once: usize,
}

/// Why a matcher does not go on where it is.
#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// Another matcher judged the same events.
    #[error("another matcher was faster")]
    Overtaken,
}

impl Matcher {
    pub fn new(journal: Journal, rules: Rules, clock: Clock) -> Self {
        let world = Node {
            journal,
            rules,
            clock,
        };
        Self {
            judge: Judge {
                world,
                matches_at_once: MATCHES_AT_ONCE,
            },
        }
    }

    /// Judges the events of a partition until stopped.
    pub async fn run(
        self: Arc<Self>,
        partition: Partition,
        stopping: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut memory = Memory::default();
        let mut retries = Retries::new(format!("match partition {}", partition.index()), &stopping);
        while retries
            .again(self.take_turns(partition, &mut memory, &stopping).await)
            .await
        {}
        Ok(())
    }

    async fn take_turns(
        &self,
        partition: Partition,
        memory: &mut Memory,
        stopping: &CancellationToken,
    ) -> Result<(), Interruption> {
        let mut turns = self.journal().turns(partition).await?;
        loop {
            let turn = tokio::select! {
                turn = turns.next() => turn?,
                () = stopping.cancelled() => {
                    turns.hand_back_rest().await;
                    return Ok(());
                }
            };
            let judged = tokio::select! {
                judged = self.judge_for_a_turn(partition, memory, stopping) => judged,
                gone = keep(&turn) => gone,
            };
            if judged.is_err() {
                memory.interrupted();
            }
            match judged {
                // If this fails it comes back by itself.
                Ok(()) => {
                    let _ = turn.hand_back().await;
                }
                // Then somebody else has the turn by now: to hand it back would take it from them.
                Err(Interruption::Overtaken) => {
                    tracing::debug!(partition = partition.index(), "overtaken");
                    sleep(LOOK_AGAIN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn judge_for_a_turn(
        &self,
        partition: Partition,
        memory: &mut Memory,
        stopping: &CancellationToken,
    ) -> Result<(), Interruption> {
        self.judge.resume(partition, memory).await?;
        let ends = Instant::now() + turn_length();
        let events = Log::Events(partition);
        let mut follower = self.journal().follow(events, memory.position.sequence);
        let mut look_from = Instant::now();
        loop {
            let mut next = pin!(follower.next(MESSAGES_MAX));
            let entries = loop {
                let over_at = self.next_end(memory).map(|end| end.max(look_from));
                let confirm_at = memory.ahead_since.map(|since| since + CONFIRM_AFTER);
                tokio::select! {
                    entries = &mut next => break entries?,
                    () = sleep_until(confirm_at.unwrap_or(ends)), if confirm_at.is_some() => {
                        self.judge.confirm(partition, memory).await?;
                    }
                    () = sleep_until(over_at.unwrap_or(ends)), if over_at.is_some() => {
                        if !self.judge.end_periods_by_clock(partition, memory).await? {
                            look_from = Instant::now() + LOOK_AGAIN;
                        }
                    }
                    () = sleep_until(ends) => return self.judge.confirm(partition, memory).await,
                    () = stopping.cancelled() => return self.judge.confirm(partition, memory).await,
                }
            };
            let round = Instant::now();
            self.judge.judge(partition, memory, &entries).await?;
            let is_due = |since: Instant| since.elapsed() > CONFIRM_AFTER;
            if memory.ahead_since.is_some_and(is_due) {
                self.judge.confirm(partition, memory).await?;
            }
            if Instant::now() > ends || stopping.is_cancelled() {
                return self.judge.confirm(partition, memory).await;
            }
            sleep_until(round + ROUND_MIN).await;
        }
    }

    fn journal(&self) -> &Journal {
        &self.judge.world.journal
    }

    /// When the next period of suppression is to be ended.
    fn next_end(&self, memory: &Memory) -> Option<Instant> {
        let end = memory.next_end()?.plus(END_AFTER);
        Some(Instant::now() + end.since(self.judge.world.clock.now()))
    }
}

/// Says that we have the turn, until that fails.
async fn keep(turn: &Task) -> Result<(), Interruption> {
    loop {
        sleep(STILL_HERE_EVERY).await;
        turn.still_at_it().await?;
    }
}

fn turn_length() -> Duration {
    let random = u64::from(u16::from_be_bytes(chance::bytes()));
    TURN_MIN + Duration::from_millis(random % TURN_SPREAD_MILLIS)
}
