//! Queues again what whoever decided on it may not have queued.

use std::collections::HashSet;

use domain::{DeliveryId, partition::Partition};
use journal::{
    record::{self, Job, Matched, OutcomeRecord},
    requeue::OnRecord,
    streams::Log,
};
use tokio::time::timeout;

use crate::{
    Judge, MESSAGES_MAX,
    resume::READ_WITHIN,
    world::{Reader, World},
};

/// A judgment of which nobody said that its deliveries are queued.
pub(super) struct Unsettled {
    /// Where it is in the log.
    pub(super) judgment: u64,
    /// What it sends, in its order, each with the message that its event is in.
    pub(super) deliveries: Vec<(u64, Matched)>,
}

impl<W: World> Judge<W> {
    /// Queues the deliveries of judgments, each judgment's apart, as whoever decided on them did: cut alike they
    /// are recognized, and those of two judgments in one message would not be.
    pub(super) async fn queue_again(
        &self,
        partition: Partition,
        mut unsettled: Vec<Unsettled>,
    ) -> Result<(), journal::Error> {
        unsettled.retain(|it| !it.deliveries.is_empty());
        let on_record = self.on_record(partition, &unsettled).await?;
        let is_over =
            |(_, matched): &(u64, Matched)| on_record.deliveries.contains(&matched.delivery);
        unsettled.retain(|it| !it.deliveries.iter().all(is_over));
        for Unsettled { deliveries, .. } in unsettled {
            let jobs = self.jobs_again(partition, deliveries).await?;
            let now = self.world.now();
            self.world.deliver_again(jobs, &on_record, now).await?;
        }
        Ok(())
    }

    /// Those of their deliveries that were in a worker's hands, or that somebody canceled or asked for again: whatever
    /// the log says of one after the judgment.
    async fn on_record(
        &self,
        partition: Partition,
        unsettled: &[Unsettled],
    ) -> Result<OnRecord, journal::Error> {
        let mut found = OnRecord {
            deliveries: HashSet::new(),
            seen_over: self.world.connection(),
        };
        let Some(first) = unsettled.first() else {
            return Ok(found);
        };
        let deliveries = unsettled.iter().flat_map(|it| &it.deliveries);
        let ours: HashSet<DeliveryId> = deliveries.map(|(_, it)| it.delivery).collect();
        let log = Log::Outcomes(partition);
        let end = self.world.log_state(log).await?.last_sequence;
        let mut follower = self.world.follow(log, first.judgment);
        while follower.position() < end {
            let read = timeout(READ_WITHIN, follower.next(MESSAGES_MAX)).await;
            let late = || journal::Error::behind("the outcomes", end);
            for entry in read.map_err(|_| late())?? {
                let said_of = said_of(&entry.payload)?.filter(|id| ours.contains(id));
                found.deliveries.extend(said_of);
            }
        }
        Ok(found)
    }

    /// The jobs of deliveries, as they were made when they were decided on.
    async fn jobs_again(
        &self,
        partition: Partition,
        deliveries: Vec<(u64, Matched)>,
    ) -> Result<Vec<Job>, journal::Error> {
        let wanted = deliveries.iter();
        let wanted = wanted.map(|(message, matched)| (*message, matched.event));
        let events = self.events_again(partition, wanted.collect()).await?;
        let job = |(_, matched): (u64, Matched)| {
            let json = events.get(&matched.event)?.clone();
            Some(Job::first(matched, json))
        };
        Ok(deliveries.into_iter().filter_map(job).collect())
    }
}

/// The deliveries of which a message of the log says what became of them.
fn said_of(message: &[u8]) -> Result<impl Iterator<Item = DeliveryId>, journal::Error> {
    let records = record::readable_outcomes(message)?;
    Ok(records.into_iter().filter_map(|record| match record {
        OutcomeRecord::Attempted(attempted) => Some(attempted.delivery),
        OutcomeRecord::StateChanged(stood) => Some(stood.delivery),
        OutcomeRecord::Matched(_)
        | OutcomeRecord::Alerted(_)
        | OutcomeRecord::Counted(_)
        | OutcomeRecord::Ended(_)
        | OutcomeRecord::Judged(_)
        | OutcomeRecord::Endpoint(_) => None,
    }))
}
