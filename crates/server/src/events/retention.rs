//! Makes days ahead and drops those that are older than they are kept. Every process with the role
//! `index` runs it; one of them drops at a time.

use std::time::Duration;

use ::archive::Bucket;
use domain::{Timestamp, clock::Clock};
use runtime::error_chain::chain;
use store::{
    Store,
    partitions::{DayContent, DayDropper, DayTable, Leftover, Table},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::events::archive::{self, archive_day};

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
    /// Where days of events go before they are dropped; `None`: nowhere.
    pub(crate) archive: Option<Bucket>,
}

impl Retention {
    pub(crate) async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        loop {
            let pause = match self.round().await {
                Ok(()) => EVERY,
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(error, "could not create or drop all days; will retry");
                    AGAIN_AFTER
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    async fn round(&self) -> Result<(), archive::Error> {
        // A clock that is ahead would drop what is to be kept, so the earlier of two is believed.
        let now = self.clock.now().min(self.store.now().await?);
        self.store.make_days_ahead(now).await?;
        let Some(mut dropper) = self.store.day_dropper().await? else {
            return Ok(());
        };
        for table in Table::ALL {
            self.drop_days(&mut dropper, table, now).await?;
        }
        // Counts are kept as long as any of their events are, which may be longer than they should.
        let oldest = self.store.event_days().await?.into_iter().next();
        let held = oldest.map_or(Duration::ZERO, |oldest| now.since(oldest.day.start()));
        let kept = self.events_kept.max(held);
        let forgotten = self.store.forget_old_counts(now, kept).await?;
        tracing::debug!(forgotten, "deleted old counts of events");
        // What a rule was is kept as long as the events that say what became of it.
        let deleted_before = now.minus(self.events_kept);
        let forgotten = self.store.forget_deleted_rules(deleted_before).await?;
        tracing::debug!(
            forgotten,
            "deleted the versions of rules that were deleted long ago"
        );
        let matched_before = now.minus(self.deliveries_kept);
        let forgotten = self.store.forget_rule_counts(matched_before).await?;
        tracing::debug!(forgotten, "deleted old counts of rules");
        let forgotten = self.store.forget_delivery_counts(matched_before).await?;
        tracing::debug!(forgotten, "deleted old counts of deliveries");
        let forgotten = self.store.forget_redriven_letters(matched_before).await?;
        tracing::debug!(
            forgotten,
            "deleted old records of which dead letters were applied"
        );
        self.store.forget_endpoints(matched_before).await?;
        self.store.forget_recoveries(matched_before).await?;
        let forgotten = self.store.forget_signing_secrets(matched_before).await?;
        tracing::debug!(forgotten, "deleted signing secrets that ended long ago");
        Ok(())
    }

    async fn drop_days(
        &self,
        dropper: &mut DayDropper,
        table: Table,
        now: Timestamp,
    ) -> Result<(), archive::Error> {
        let kept = match table {
            Table::AuditEvents => self.events_kept,
            Table::Deliveries | Table::DeliveryAttempts => self.deliveries_kept,
        };
        let then = match (table, &self.archive) {
            (Table::AuditEvents, Some(_)) => Leftover::PutBack,
            _ => Leftover::Drop,
        };
        dropper
            .see_to_leftovers(table, now.minus(kept), then)
            .await?;
        for day in self.store.days(table).await? {
            if !day.is_overdue(kept, now) {
                continue;
            }
            let is_dropped = match (table, &self.archive) {
                (Table::AuditEvents, Some(files)) => {
                    self.archive_and_drop(dropper, files, &day, now).await?
                }
                _ => dropper.drop_day(table, day.day, now.minus(kept)).await?,
            };
            if is_dropped {
                tracing::info!(
                    table = day.table,
                    rows = day.rows,
                    bytes = day.bytes,
                    "dropped a day that was past its retention"
                );
            }
        }
        Ok(())
    }

    /// What is written to the day meanwhile is archived by the next round.
    async fn archive_and_drop(
        &self,
        dropper: &mut DayDropper,
        files: &Bucket,
        day: &DayTable,
        now: Timestamp,
    ) -> Result<bool, archive::Error> {
        let archived = archive_day(&self.store, files, day.day, now).await?;
        let content = match archived {
            Some(archived) => archived.content,
            None => DayContent {
                events: 0,
                erased: self.store.erased_count_of_day(day.day).await?,
            },
        };
        Ok(dropper.drop_archived_day(day.day, content).await?)
    }
}
