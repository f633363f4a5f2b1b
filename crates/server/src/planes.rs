//! What a handler may touch, as a type.
//!
//! The data plane has no database field, so nobody has to remember that ingest must not query: it
//! would not compile. It goes on while PostgreSQL is down. The control plane answers 503 then.

use std::{sync::Arc, time::Duration};

use axum::extract::FromRef;
use domain::{
    OrgId,
    clock::Clock,
    partition::{Partition, Partitions},
};
use journal::{Journal, append::Appender, streams::Log};
use store::Store;

use crate::{
    announce::Announcer, chance, deliveries::target::TargetPolicy, fresh, lifecycle::Tasks,
    snapshots::Keys,
};

/// What ingest may touch.
#[derive(Clone)]
pub struct DataPlane {
    pub events: Appenders,
    pub keys: Keys,
    pub clock: Clock,
    pub retention: Duration,
}

/// What rules, lists and the delivery log may touch.
#[derive(Clone)]
pub struct ControlPlane {
    pub store: Store,
    pub journal: Journal,
    pub keys: Keys,
    pub announcer: Announcer,
    pub clock: Clock,
    pub targets: Arc<TargetPolicy>,
}

impl ControlPlane {
    /// Waits until the organisation's log has been applied to the store; `false` if it is behind.
    pub async fn wait_until_fresh(
        &self,
        org: OrgId,
        log: fn(Partition) -> Log,
    ) -> Result<bool, store::Error> {
        let log = log(self.journal.partitions().of(org));
        fresh::wait(&self.journal, &self.store, log).await
    }
}

/// The appenders of one kind of log, one for each partition. Cheap to clone.
#[derive(Clone)]
pub struct Appenders {
    partitions: Partitions,
    by_partition: Arc<[Appender]>,
}

impl Appenders {
    /// Makes them and starts their tasks, which end when the last clone is gone.
    pub fn start(journal: &Journal, log: fn(Partition) -> Log, tasks: &Tasks) -> Self {
        let partitions = journal.partitions();
        let by_partition = partitions
            .all()
            .map(|partition| {
                let (appender, task) =
                    journal.appender(log(partition), &hex::encode(chance::bytes::<8>()));
                let name = format!("append {:?}", log(partition));
                tasks.spawn(name, async move {
                    task.await;
                    Ok(())
                });
                appender
            })
            .collect();
        Self {
            partitions,
            by_partition,
        }
    }

    pub fn of(&self, org: OrgId) -> &Appender {
        &self.by_partition[usize::from(self.partitions.of(org).index())]
    }
}

impl FromRef<DataPlane> for Keys {
    fn from_ref(plane: &DataPlane) -> Self {
        plane.keys.clone()
    }
}

impl FromRef<DataPlane> for Clock {
    fn from_ref(plane: &DataPlane) -> Self {
        plane.clock
    }
}

impl FromRef<ControlPlane> for Keys {
    fn from_ref(plane: &ControlPlane) -> Self {
        plane.keys.clone()
    }
}

impl FromRef<ControlPlane> for Clock {
    fn from_ref(plane: &ControlPlane) -> Self {
        plane.clock
    }
}
