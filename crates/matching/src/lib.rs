//! Turns events into deliveries: one task per partition.
//!
//! [`partition_state`] is what a matcher knows (how far it is, and the throttle of every rule that has a
//! threshold or suppresses), [`judge`] puts events before the rules, [`chain`] puts what was decided on
//! record and queues it, [`resume`] reads the record to go on where another matcher was, and [`requeue`] queues what that
//! one may not have queued. [`world`] is what they use for all that: the journal, the rules and the clock, so that the
//! simulation can walk the very same code through schedules that no machine would show.
//!
//! A matcher of a partition:
//!
//! ```text
//!   no lease ──lease──▶ resuming ──at the end──▶ waiting ──events──▶ judging ──▶ appending ──on record───▶ queuing
//!      ▲                    ▲                     │   ▲                             │                       │  │
//!      │                    └──────overtaken──────│───│─────────────────────────────┘                       │  │
//!      │                                          │   └──────────────────queued──────────────────────────────┘  │
//!      │                                          │   ▲                                                         │
//!      └─────────lease over or lost───────────────┘   └──what the record lacks── requeuing ◀──answer lost───────┘
//! ```
//!
//! For each batch of events it waits until the rules are current, judges, appends what was decided to the
//! chain of judgments ([`journal::match_log`]), and queues the deliveries. How far it is, what it decided and
//! what a threshold has counted are one message, so all of them are on record or none is. After a crash before that
//! message the events are judged again, as if for the first time; after a crash behind it, what may not be queued yet is
//! queued again, each judgment's deliveries apart, so that they make the same messages and are recognized.
//!
//! A partition's events are judged in order by whoever holds its lease ([`Journal::match_leases`]). A matcher that
//! dies loses it after three seconds; one that lives hands it back after a minute or two, so that the
//! partitions spread over the processes. If two judge at once, the chain decides: one appends; the other is overtaken,
//! forgets its state, re-reads the log and continues.
//!
//! An event that the client sent again is in the log twice. Each match of an event that may come twice
//! is marked with the message it came in ([`journal::dedup`]): found in another message later, the event
//! sets off nothing.

mod chain;
mod judge;
pub mod metrics;
mod partition_state;
mod requeue;
mod resume;
mod rules;
#[cfg(test)]
mod simulation;
mod world;

use std::{pin::pin, sync::Arc, time::Duration};

use domain::{clock::Clock, partition::Partition};
use journal::{Journal, streams::Log, work_queue::Task};
use runtime::{random, retry::Retries};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

pub use rules::Rules;

use judge::MATCHES_AT_ONCE;
use partition_state::PartitionState;
use world::Node;

/// How many messages of events are judged at once; the follower bounds their bytes.
const MESSAGES_MAX: usize = 256;
/// How soon after the begin of a round the next one begins: each is two writes at least, whatever it decides.
const ROUND_MIN: Duration = Duration::from_millis(10);
/// A lease is handed back after so long, so that another process may have it. The lengths differ, or all partitions
/// would change hands at once.
const LEASE_MIN: Duration = Duration::from_secs(60);
const LEASE_SPREAD_MILLIS: u64 = 60_000;
/// How often whoever holds a lease says so.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);
/// How long a position may be that is not on record: events that no rule wanted are judged again after
/// a crash, and nothing comes of it.
const CONFIRM_AFTER: Duration = Duration::from_millis(500);
/// How long after its end a period is ended, unless an event of its own ends it: those that came before
/// the end are in the journal by then, but for those that had to wait for it.
const END_AFTER: Duration = Duration::from_secs(1);
/// How soon to look again whether everything is judged that came before the end of a period.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Takes leases of partitions, and judges for as long as it holds one.
pub struct Matcher {
    judge: Judge<Node>,
}

/// What is done while the lease is held.
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
        let mut state = PartitionState::default();
        let mut retries = Retries::new(format!("match partition {}", partition.index()), &stopping);
        while retries
            .again(self.take_leases(partition, &mut state, &stopping).await)
            .await
        {}
        Ok(())
    }

    async fn take_leases(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        stopping: &CancellationToken,
    ) -> Result<(), Interruption> {
        let mut leases = self.journal().match_leases(partition).await?;
        loop {
            let lease = tokio::select! {
                lease = leases.next() => lease?,
                () = stopping.cancelled() => {
                    leases.hand_back_rest().await;
                    return Ok(());
                }
            };
            let judged = tokio::select! {
                judged = self.judge_under_lease(partition, state, stopping) => judged,
                lost = keep(&lease) => lost,
            };
            if judged.is_err() {
                state.interrupted();
            }
            match judged {
                // If this fails it comes back by itself.
                Ok(()) => {
                    let _ = lease.hand_back().await;
                }
                // Then somebody else holds the lease by now: to hand it back would take it from them.
                Err(Interruption::Overtaken) => {
                    tracing::debug!(partition = partition.index(), "overtaken");
                    sleep(LOOK_AGAIN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn judge_under_lease(
        &self,
        partition: Partition,
        state: &mut PartitionState,
        stopping: &CancellationToken,
    ) -> Result<(), Interruption> {
        self.judge.resume(partition, state).await?;
        let ends = Instant::now() + lease_length();
        let events = Log::Events(partition);
        let mut follower = self.journal().follow(events, state.position.sequence);
        let mut look_from = Instant::now();
        loop {
            let mut next = pin!(follower.next(MESSAGES_MAX));
            let entries = loop {
                let over_at = self.next_end(state).map(|end| end.max(look_from));
                let confirm_at = state.ahead_since.map(|since| since + CONFIRM_AFTER);
                tokio::select! {
                    entries = &mut next => break entries?,
                    () = sleep_until(confirm_at.unwrap_or(ends)), if confirm_at.is_some() => {
                        self.judge.confirm(partition, state).await?;
                    }
                    () = sleep_until(over_at.unwrap_or(ends)), if over_at.is_some() => {
                        if !self.judge.end_periods_by_clock(partition, state).await? {
                            look_from = Instant::now() + LOOK_AGAIN;
                        }
                    }
                    () = sleep_until(ends) => return self.judge.confirm(partition, state).await,
                    () = stopping.cancelled() => return self.judge.confirm(partition, state).await,
                }
            };
            let round = Instant::now();
            self.judge.judge(partition, state, &entries).await?;
            let is_due = |since: Instant| since.elapsed() > CONFIRM_AFTER;
            if state.ahead_since.is_some_and(is_due) {
                self.judge.confirm(partition, state).await?;
            }
            if Instant::now() > ends || stopping.is_cancelled() {
                return self.judge.confirm(partition, state).await;
            }
            sleep_until(round + ROUND_MIN).await;
        }
    }

    fn journal(&self) -> &Journal {
        &self.judge.world.journal
    }

    /// When the next period of suppression is to be ended.
    fn next_end(&self, state: &PartitionState) -> Option<Instant> {
        let end = state.next_end()?.plus(END_AFTER);
        Some(Instant::now() + end.since(self.judge.world.clock.now()))
    }
}

/// Says that we hold the lease, until that fails.
async fn keep(lease: &Task) -> Result<(), Interruption> {
    loop {
        sleep(HEARTBEAT_EVERY).await;
        lease.still_at_it().await?;
    }
}

fn lease_length() -> Duration {
    let random = u64::from(u16::from_be_bytes(random::bytes()));
    LEASE_MIN + Duration::from_millis(random % LEASE_SPREAD_MILLIS)
}
