//! API keys: fetched on first use, kept within a bound, forgotten the moment they change.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::account::KeyHash;
use journal::{Journal, config::KeyEntry};
use moka::future::Cache;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::retry::Retries;

/// A million keys in a deployment must not cost a node a million entries.
const HELD_MAX: u64 = 50_000;
/// A key is asked for again after this, should a change ever be missed.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How long a request waits for that; the journal may be looking for a leader.
const ASK_AGAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// A key that cannot be asked for again, because the journal is away, is trusted this long.
const HELD_FOR: Duration = Duration::from_secs(15 * 60);

/// The API keys this node has met. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    journal: Journal,
    held: Cache<KeyHash, Held>,
    /// How often following began anew.
    beginnings: Arc<AtomicU64>,
}

/// A key as the journal knew it.
#[derive(Clone)]
struct Held {
    entry: Arc<KeyEntry>,
    asked_at: Instant,
    beginning: u64,
}

impl Keys {
    pub fn new(journal: Journal) -> Self {
        let held = Cache::builder()
            .max_capacity(HELD_MAX)
            .time_to_live(HELD_FOR)
            .build();
        Self {
            journal,
            held,
            beginnings: Arc::default(),
        }
    }

    /// The key with this hash. One that is not known is asked for each time, so that a key works
    /// the moment it is made; one that was known is served while the journal is away.
    pub async fn find(&self, hash: &KeyHash) -> Result<Option<Arc<KeyEntry>>, journal::Error> {
        let Some(held) = self.held.get(hash).await else {
            return self.ask(hash).await;
        };
        if self.is_current(&held) {
            return Ok(Some(held.entry));
        }
        match timeout(ASK_AGAIN_TIMEOUT, self.ask(hash)).await {
            Err(_) | Ok(Err(journal::Error::Unavailable { .. })) => Ok(Some(held.entry)),
            Ok(answer) => answer,
        }
    }

    fn is_current(&self, held: &Held) -> bool {
        held.beginning == self.beginnings.load(Ordering::Relaxed)
            && held.asked_at.elapsed() < ASK_AGAIN_AFTER
    }

    async fn ask(&self, hash: &KeyHash) -> Result<Option<Arc<KeyEntry>>, journal::Error> {
        let (asked_at, beginning) = (Instant::now(), self.beginnings.load(Ordering::Relaxed));
        let Some(entry) = self.journal.key(hash).await?.map(Arc::new) else {
            self.held.invalidate(hash).await;
            return Ok(None);
        };
        let held = Held {
            entry: Arc::clone(&entry),
            asked_at,
            beginning,
        };
        self.held.insert(hash.clone(), held).await;
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
        self.beginnings.fetch_add(1, Ordering::Relaxed);
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
