//! API keys: fetched on first use, kept within a bound, forgotten the moment they change.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::account::KeyHash;
use journal::{Journal, kv::KeyEntry};
use moka::{Entry, future::Cache, ops::compute::Op};
use runtime::retry::Retries;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// A million keys in a deployment must not cost a node a million entries.
const HELD_MAX: u64 = 50_000;
/// A key is asked for again after this, should a change ever be missed.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How long a request waits for that; the journal may be looking for a leader.
const ASK_AGAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// A key that cannot be asked for again, because the journal is away, is trusted this long after the
/// journal last knew it.
const TRUSTED_FOR: Duration = Duration::from_secs(15 * 60);
/// How many uses wait to be noted; further ones are noted when the key is next used.
const USED_MAX: usize = 100_000;

/// The API keys this node has met. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    journal: Journal,
    held: Cache<KeyHash, Held>,
    /// How often following began anew.
    beginnings: Arc<AtomicU64>,
    /// How many questions were asked; each has a number.
    questions: Arc<AtomicU64>,
    used: Arc<Mutex<Vec<Arc<Key>>>>,
}

/// A key that a request presented.
#[derive(Debug)]
pub struct Key {
    entry: KeyEntry,
    /// Whether it was used since uses were last noted.
    used: AtomicBool,
}

impl Deref for Key {
    type Target = KeyEntry;

    fn deref(&self) -> &KeyEntry {
        &self.entry
    }
}

/// A key as the journal knew it, or one that was just asked for.
#[derive(Clone)]
struct Held {
    key: Option<Arc<Key>>,
    /// When the question was asked that the key is the answer to.
    asked_at: Instant,
    beginning: u64,
    /// The latest question about it, and when it was asked. Its answer is kept only while this is
    /// still here: a change removes it, so what was true before the change is never put back.
    question: u64,
    asking_since: Instant,
}

/// What a node knows of a key without asking.
pub enum Known {
    /// This, and it is current.
    Key(Arc<Key>),
    /// It has met the key, and has to ask whether it is still so.
    Met,
    Nothing,
}

impl Keys {
    pub fn new(journal: Journal) -> Self {
        let held = Cache::builder()
            .max_capacity(HELD_MAX)
            .time_to_idle(TRUSTED_FOR)
            .build();
        Self {
            journal,
            held,
            beginnings: Arc::default(),
            questions: Arc::default(),
            used: Arc::default(),
        }
    }

    /// What is known of the key with this hash without asking.
    pub async fn known(&self, hash: &KeyHash) -> Known {
        let Some(held) = self.held.get(hash).await else {
            return Known::Nothing;
        };
        let is_current = held.beginning == self.beginnings.load(Ordering::Relaxed)
            && held.asked_at.elapsed() < ASK_AGAIN_AFTER;
        match held.key {
            Some(key) if is_current => Known::Key(key),
            Some(_) => Known::Met,
            None => Known::Nothing,
        }
    }

    /// The key with this hash, as the journal knows it now: a key works the moment it is made. One
    /// that was known not long ago is served while the journal is away, and while another request
    /// is asking for it.
    pub async fn find(&self, hash: &KeyHash) -> Result<Option<Arc<Key>>, journal::Error> {
        let held = self.held.get(hash).await;
        let trusted = held.filter(|held| held.asked_at.elapsed() < TRUSTED_FOR);
        let Some((known, asking_since)) =
            trusted.and_then(|held| Some((held.key?, held.asking_since)))
        else {
            return self.ask(hash).await;
        };
        if asking_since.elapsed() < ASK_AGAIN_TIMEOUT {
            return Ok(Some(known));
        }
        match timeout(ASK_AGAIN_TIMEOUT, self.ask(hash)).await {
            Err(_) | Ok(Err(journal::Error::Unavailable { .. })) => Ok(Some(known)),
            Ok(answer) => answer,
        }
    }

    async fn ask(&self, hash: &KeyHash) -> Result<Option<Arc<Key>>, journal::Error> {
        let question = self.questions.fetch_add(1, Ordering::Relaxed);
        let (asked_at, beginning) = (Instant::now(), self.beginnings.load(Ordering::Relaxed));
        let asking = |before: Option<Entry<KeyHash, Held>>| {
            let before = before.map(Entry::into_value);
            std::future::ready(Held {
                question,
                asking_since: asked_at,
                ..before.unwrap_or(Held {
                    key: None,
                    asked_at,
                    beginning,
                    question,
                    asking_since: asked_at,
                })
            })
        };
        self.held.entry_by_ref(hash).and_upsert_with(asking).await;
        let entry = self.journal.key(hash).await?;
        let key = entry.map(|entry| {
            Arc::new(Key {
                entry,
                used: AtomicBool::new(false),
            })
        });
        let answered = |asked: Option<Entry<KeyHash, Held>>| {
            let is_ours = asked.is_some_and(|held| held.value().question == question);
            std::future::ready(match (is_ours, key.clone()) {
                (false, _) => Op::Nop,
                (true, None) => Op::Remove,
                (true, key) => Op::Put(Held {
                    key,
                    asked_at,
                    beginning,
                    question,
                    asking_since: asked_at,
                }),
            })
        };
        let _ = self
            .held
            .entry_by_ref(hash)
            .and_compute_with(answered)
            .await;
        Ok(key)
    }

    /// Remembers that the key was used; costs a request next to nothing.
    pub fn note_use(&self, key: &Arc<Key>) {
        if key.used.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() < USED_MAX {
            used.push(Arc::clone(key));
        } else {
            key.used.store(false, Ordering::Relaxed);
        }
    }

    /// The keys that were used since this was last asked.
    pub fn take_used(&self) -> Vec<Arc<Key>> {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        for key in &used {
            key.used.store(false, Ordering::Relaxed);
        }
        used
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
                    // Not `invalidate`, which could slip in between an answer's look and its write.
                    let gone = |_| std::future::ready(Op::Remove);
                    let _ = self.held.entry_by_ref(&hash).and_compute_with(gone).await;
                },
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }
}
