//! Deliveries that nobody wants any more.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use domain::DeliveryId;
use journal::{Journal, streams::Bucket};
use tokio_util::sync::CancellationToken;

use super::mirror::Mirror;

/// Those that were canceled within the life of a delivery. Cheap to clone.
#[derive(Clone)]
pub struct Cancels {
    journal: Journal,
    canceled: Arc<RwLock<HashSet<DeliveryId>>>,
    mirror: Mirror,
}

impl Cancels {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Cancels),
            journal,
            canceled: Arc::default(),
        }
    }

    pub fn contains(&self, delivery: DeliveryId) -> bool {
        let canceled = self.canceled.read().unwrap_or_else(PoisonError::into_inner);
        canceled.contains(&delivery)
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.cancels();
        let apply = |changes| self.apply(changes);
        self.mirror.follow(changes, apply, stopping).await
    }

    fn apply(&self, changes: Vec<(DeliveryId, bool)>) {
        let mut canceled = self
            .canceled
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for (delivery, is_canceled) in changes {
            if is_canceled {
                canceled.insert(delivery);
            } else {
                canceled.remove(&delivery);
            }
        }
    }
}
