//! Makes days ahead and drops those that are older than they are kept. Every process with the role
//! `index` runs it; one of them drops at a time.

use std::time::Duration;

use domain::{Timestamp, clock::Clock};
use store::{
    Store,
    partitions::{Day, DayDropper, Table},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::error_chain::chain;

/// A day is dropped at most this late.
const EVERY: Duration = Duration::from_hours(1);
/// After a round that failed: PostgreSQL was away, or somebody read a day that is to go.
const AGAIN_AFTER: Duration = Duration::from_mins(1);

/// How long what is kept.
pub(crate) struct Retention {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) events_kept: Duration,
    pub(crate) deliveries_kept: Duration,
}

impl Retention {
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        loop {
            let pause = match self.round().await {
                Ok(()) => EVERY,
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(error, "days were not all made or dropped, trying again");
                    AGAIN_AFTER
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    async fn round(&self) -> Result<(), store::Error> {
        let now = self.clock.now();
        self.store.make_days_ahead(now).await?;
        let Some(mut dropper) = self.store.day_dropper().await? else {
            return Ok(());
        };
        for table in Table::ALL {
            self.drop_days(&mut dropper, table, now).await?;
        }
        let forgotten = self.store.forget_old_counts(now, self.events_kept).await?;
        tracing::debug!(forgotten, "forgot old counts");
        Ok(())
    }

    async fn drop_days(
        &self,
        dropper: &mut DayDropper,
        table: Table,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let kept = match table {
            Table::AuditEvents => self.events_kept,
            Table::Deliveries | Table::DeliveryAttempts => self.deliveries_kept,
        };
        dropper.drop_leftovers(table, now.minus(kept)).await?;
        for day in self.store.days(table).await? {
            if !day.is_overdue(kept, now) {
                continue;
            }
            if table == Table::AuditEvents && !self.move_away(&day).await? {
                tracing::warn!(table = day.table, "not archived yet, so it is kept");
                continue;
            }
            if dropper.drop_day(table, &day, now.minus(kept)).await? {
                tracing::info!(
                    table = day.table,
                    rows = day.rows,
                    bytes = day.bytes,
                    "a day was older than it is kept and was dropped"
                );
            }
        }
        Ok(())
    }

    /// Whether a day of events may go. This is where the archive takes it first, if one is configured:
    /// it returns `true` once every event of the day is in object storage, and is asked again every
    /// round until then.
    #[expect(clippy::unused_async, reason = "the hook for the archive, which waits")]
    async fn move_away(&self, _day: &Day) -> Result<bool, store::Error> {
        Ok(true)
    }
}
