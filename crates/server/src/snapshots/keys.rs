//! API keys: fetched on first use, kept within a bound, forgotten the moment they change.

use std::{sync::Arc, time::Duration};

use domain::account::KeyHash;
use journal::{Journal, config::KeyEntry};
use moka::future::Cache;
use tokio_util::sync::CancellationToken;

use crate::retry::Retries;

/// A million keys in a deployment must not cost a node a million entries.
const HELD_MAX: u64 = 50_000;
/// A key is asked for again after this, should a change ever be missed.
const HELD_FOR: Duration = Duration::from_secs(60);

/// The API keys this node has met. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    journal: Journal,
    held: Cache<KeyHash, Arc<KeyEntry>>,
}

impl Keys {
    pub fn new(journal: Journal) -> Self {
        let held = Cache::builder()
            .max_capacity(HELD_MAX)
            .time_to_live(HELD_FOR)
            .build();
        Self { journal, held }
    }

    /// The key with this hash. One that is not known is asked for each time, so that a key works
    /// the moment it is made.
    pub async fn find(&self, hash: &KeyHash) -> Result<Option<Arc<KeyEntry>>, journal::Error> {
        if let Some(entry) = self.held.get(hash).await {
            return Ok(Some(entry));
        }
        let Some(entry) = self.journal.key(hash).await? else {
            return Ok(None);
        };
        let entry = Arc::new(entry);
        self.held.insert(hash.clone(), Arc::clone(&entry)).await;
        Ok(Some(entry))
    }

    /// Forgets keys as they change, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("follow API keys", &stopping);
        while retries.again(self.forget_changed(&stopping).await).await {}
        Ok(())
    }

    async fn forget_changed(&self, stopping: &CancellationToken) -> Result<(), journal::Error> {
        let mut changes = self.journal.key_changes().await?;
        // What changed while nobody followed is not known: everything is asked for anew.
        self.held.invalidate_all();
        loop {
            tokio::select! {
                changed = changes.next() => for hash in changed? {
                    self.held.invalidate(&hash).await;
                },
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }
}
