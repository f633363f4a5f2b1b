//! Keeps the last of the room in a log of events for organizations that send little: looks how full each log is, and tells the
//! budget of bytes what one organization may have sent to one that is nearly full (`domain/limit/fair_share.rs`).
//!
//! No request waits for a look. What is sent between two goes by the first of them, so a log fills up all the same if a few
//! seconds of what it is sent are more than the room that was left.

use std::time::Duration;

use domain::{clock::Clock, limit::fair_share, partition::Partition};
use journal::Journal;
use runtime::error_chain::chain;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::edge::byte_budget::ByteBudget;

const LOOK_EVERY: Duration = Duration::from_secs(5);

pub struct Watch {
    pub journal: Journal,
    /// What each log may hold.
    pub most: u64,
    pub budget: ByteBudget,
    pub clock: Clock,
}

impl Watch {
    /// Looks and tells until stopped.
    pub async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        loop {
            match self.journal.events_sizes().await {
                Ok(sizes) => {
                    for (partition, held) in sizes {
                        self.ration(partition, held);
                    }
                }
                // What was seen last goes on. Others say loudly that the journal is away.
                Err(error) => {
                    tracing::debug!(error = chain(&error), "could not read the journal's size");
                }
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    fn ration(&self, partition: Partition, held: u64) {
        let sent = self.budget.sent_to(partition, self.clock.now());
        let share = fair_share::share(held, self.most, &sent);
        let is_new = self.budget.ration(partition, share);
        let (partition, most) = (partition.index(), self.most);
        match share {
            Some(_) if is_new => tracing::warn!(
                partition,
                held,
                most,
                "an event log is nearly full; refusing the organizations that sent the most to it"
            ),
            None if is_new => tracing::info!(
                partition,
                held,
                most,
                "an event log has room for everyone again"
            ),
            _ => {}
        }
    }
}
