//! What others delivered of messages that the queue hands out again: who had one died before it was settled.
//!
//! Only what the receiver has is left out. Of any other attempt it is not known whether all that follows from it was seen to,
//! so it is made again.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use domain::partition::Partition;
use journal::{record::Job, redelivery::Delivered, work_queue::Task};
use tokio::{sync::Mutex, time::Instant};

use super::Worker;

/// Messages that come back do so together. What was read is kept so long for the next one.
const KEPT: Duration = Duration::from_secs(30);

/// What was read of the record, by partition.
#[derive(Default)]
pub(super) struct DeliveredBefore(Mutex<HashMap<Partition, (Instant, Delivered)>>);

impl DeliveredBefore {
    /// Forgets what nobody asks for any more.
    pub(super) fn forget(&self) {
        // Somebody asks just now otherwise.
        if let Ok(mut all) = self.0.try_lock() {
            all.retain(|_, (asked, _)| asked.elapsed() < KEPT);
        }
    }
}

impl Worker {
    /// Leaves out what somebody else delivered of a message that they had in hand.
    pub(super) async fn leave_out_delivered(
        &self,
        task: &Task,
        jobs: &mut Vec<Job>,
    ) -> Result<(), journal::Error> {
        let Some(first) = jobs.first() else {
            return Ok(());
        };
        let partition = self.journal.partitions().of(first.matched.org);
        let now = self.clock.now();
        let mut all = self.0.delivered_before.0.lock().await;
        all.retain(|of, (_, read)| *of != partition || read.is_for(task, now));
        let (asked, read) = match all.entry(partition) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => {
                let read = self.journal.delivered_since(partition, task, now)?;
                place.insert((Instant::now(), read))
            }
        };
        read.catch_up().await?;
        *asked = Instant::now();
        jobs.retain(|job| !read.has(job));
        Ok(())
    }
}
