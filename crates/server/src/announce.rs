//! Makes known to the data plane what the control plane decided.
//!
//! A change and its announcement are saved in one transaction; the announcement is made right after,
//! and by a sweep should that fail. So nothing decided stays unknown, and nothing unknown was decided.

use std::{sync::Arc, time::Duration};

use journal::{Journal, kv::Change, streams::Bucket};
use runtime::retry::Retries;
use store::{Store, outbox::OutboxEntry};
use tokio::{sync::Mutex, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::apply_log::Error;

/// How long an announcement that failed waits for the sweep.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Announces changes. Cheap to clone.
#[derive(Clone)]
pub struct Announcer {
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    /// One at a time in this process: a journal that is away must not cost every request a connection
    /// to the database.
    turn: Arc<Mutex<()>>,
}

impl Announcer {
    pub fn new(store: Store, journal: Journal) -> Self {
        Self {
            store,
            journal,
            turn: Arc::default(),
        }
    }

    /// Announces everything that waits, oldest first; returns when the journal has it.
    pub async fn announce(&self) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        let known = Bucket::ALL.map(Bucket::as_str);
        loop {
            let round = self.store.outbox_round(&known).await?;
            for (name, entry) in round.named() {
                let change = change(entry).expect("only what is for known buckets was taken");
                self.journal.announce(&change, name).await?;
            }
            let was_full = round.is_full();
            round.finish().await?;
            if !was_full {
                return Ok(());
            }
        }
    }

    /// Announces what was left behind, until stopped.
    pub async fn sweep(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("announce changes", &stopping);
        loop {
            tokio::select! {
                () = sleep(SWEEP_EVERY) => {}
                () = stopping.cancelled() => return Ok(()),
            }
            retries.again(self.announce().await).await;
        }
    }
}

/// An announcement as the store keeps it.
pub(crate) fn entry(change: Change) -> OutboxEntry {
    OutboxEntry {
        bucket: change.bucket.as_str().to_owned(),
        key: change.key,
        value: change.value,
    }
}

fn change(entry: &OutboxEntry) -> Option<Change> {
    let bucket = Bucket::ALL
        .into_iter()
        .find(|bucket| bucket.as_str() == entry.bucket)?;
    Some(Change {
        bucket,
        key: entry.key.clone(),
        value: entry.value.clone(),
    })
}
