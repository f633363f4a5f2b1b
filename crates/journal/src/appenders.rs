//! The appenders of all partitions.

use std::sync::Arc;

use domain::{
    OrgId,
    partition::{Partition, Partitions},
};
use futures::{FutureExt as _, future::BoxFuture};
use runtime::random;

use crate::{Error, Journal, append::Appender, frames::Frames, streams::Log};

/// The appenders of one kind of log, one for each partition. Cheap to clone.
#[derive(Clone)]
pub struct Appenders {
    partitions: Partitions,
    by_partition: Arc<[Appender]>,
}

impl Appenders {
    /// Makes them. What each does in the background is handed to `spawn` with its name; it ends when the last clone is
    /// gone.
    pub fn start(
        journal: &Journal,
        log: fn(Partition) -> Log,
        spawn: impl Fn(String, BoxFuture<'static, ()>),
    ) -> Self {
        let partitions = journal.partitions();
        let by_partition = partitions
            .all()
            .map(|partition| {
                let (appender, task) =
                    journal.appender(log(partition), &hex::encode(random::bytes::<8>()));
                let name = format!("append {:?}", log(partition));
                spawn(name, task.boxed());
                appender
            })
            .collect();
        Self {
            partitions,
            by_partition,
        }
    }

    /// Makes events durable, and counts them.
    pub async fn append_events(&self, org: OrgId, frames: Frames) -> Result<(), Error> {
        let events = frames.count() as u64;
        self.of(org).append(frames).await?;
        metrics::counter!(crate::metrics::EVENTS_INGESTED).increment(events);
        Ok(())
    }

    pub fn of(&self, org: OrgId) -> &Appender {
        &self.by_partition[usize::from(self.partitions.of(org).index())]
    }
}
