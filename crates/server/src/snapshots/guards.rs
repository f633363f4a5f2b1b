//! Policies: read on first use, kept within a bound, replaced the moment they change.
//!
//! What a node has heard of an organization is part of the name under which its guard is held. So a change
//! makes what was held before it unfindable, and an answer that was on its way when the change came is held
//! under a name that nobody asks for any more.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{
    OrgId,
    guard::{PolicyText, Settings},
};
use journal::Journal;
use moka::future::Cache;
use policy::{PolicySet, starter};
use runtime::{error_chain::chain, retry::Retries};
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// How many policies are held, of all organizations, by the memory that they take; an organization that has only the
/// starter counts as one.
const POLICIES_HELD_MAX: u64 = 100_000;
/// How long texts are kept ready for others that may have the same; whoever is answered by them keeps them anyway.
const SHARED_FOR: Duration = Duration::from_secs(600);
/// While a new version is being read, the one before it answers, but not for longer than this.
const OUTDATED_MAX: Duration = Duration::from_millis(500);

/// The guards of organizations as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Guards {
    journal: Journal,
    held: Cache<(OrgId, Heard), Arc<Guarded>>,
    /// Policies by digest: whoever has the same texts shares them.
    sets: Cache<String, Arc<PolicySet>>,
    starter: Arc<Guarded>,
    /// How often following began anew.
    beginnings: Arc<AtomicU64>,
    /// Organizations whose policies have changed since following began.
    changed: Arc<RwLock<HashMap<OrgId, Changed>>>,
}

/// What is known of how current something is: two answers to the same question may differ only if this does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Heard {
    beginning: u64,
    changes: u64,
}

#[derive(Clone, Copy)]
struct Changed {
    times: u64,
    last: Instant,
}

/// What answers an organization's agents, ready to be asked.
#[derive(Debug)]
pub struct Guarded {
    pub active: Version,
    pub shadow: Option<Version>,
    pub settings: Settings,
}

/// A version of the policies, ready to be asked.
#[derive(Debug)]
pub struct Version {
    pub number: u32,
    pub policies: Arc<PolicySet>,
}

/// Why it is not known what to answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unknown {
    #[error("look up the policies")]
    Journal(#[from] journal::Error),
    /// They were checked when they were saved, so something else wrote them, or a newer version did.
    #[error("version {version} of the policies cannot be read: {problem}")]
    Unreadable { version: u32, problem: String },
}

impl Guards {
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            held: Cache::builder()
                .max_capacity(POLICIES_HELD_MAX)
                .weigher(|_, guarded: &Arc<Guarded>| guarded.weight())
                .build(),
            sets: Cache::builder()
                .max_capacity(POLICIES_HELD_MAX)
                .weigher(|_, set: &Arc<PolicySet>| weight(set))
                .time_to_idle(SHARED_FOR)
                .build(),
            starter: Arc::new(Guarded::starter()),
            beginnings: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// What answers an organization's agents.
    pub async fn of(&self, org: OrgId) -> Result<Arc<Guarded>, Unknown> {
        let (heard, changed) = self.heard(org);
        if let Some(held) = self.held.get(&(org, heard)).await {
            return Ok(held);
        }
        let before = Heard {
            changes: heard.changes.saturating_sub(1),
            ..heard
        };
        if changed.is_some_and(|at| at.elapsed() < OUTDATED_MAX)
            && let Some(held) = self.held.get(&(org, before)).await
        {
            return Ok(held);
        }
        self.read(org, heard).await
    }

    fn heard(&self, org: OrgId) -> (Heard, Option<Instant>) {
        let beginning = self.beginnings.load(Ordering::Acquire);
        let changed = self.changed.read().unwrap_or_else(PoisonError::into_inner);
        let changed = changed.get(&org);
        let heard = Heard {
            beginning,
            changes: changed.map_or(0, |changed| changed.times),
        };
        (heard, changed.map(|changed| changed.last))
    }

    /// Reads a guard; all who need it at the same time wait for one reading.
    async fn read(&self, org: OrgId, heard: Heard) -> Result<Arc<Guarded>, Unknown> {
        let reading = async {
            let guard = self.journal.guard(org).await?;
            let Some(guard) = guard else {
                return Ok(Arc::clone(&self.starter));
            };
            let shadow = match guard.shadow {
                Some(text) => self.shadow(org, text).await,
                None => None,
            };
            Ok(Arc::new(Guarded {
                active: self.version(guard.active).await?,
                shadow,
                settings: guard.settings,
            }))
        };
        let read = self.held.try_get_with((org, heard), reading).await;
        read.map_err(|unknown: Arc<Unknown>| Unknown::clone(&unknown))
    }

    /// Nobody obeys it, so nobody goes without an answer because it cannot be read.
    async fn shadow(&self, org: OrgId, text: PolicyText) -> Option<Version> {
        let read = self.version(text).await;
        let told = |unknown: &Unknown| {
            tracing::error!(org.id = %org, error = chain(unknown), "could not read the policies in shadow; answering without them");
        };
        read.inspect_err(told).ok()
    }

    async fn version(&self, text: PolicyText) -> Result<Version, Unknown> {
        let number = text.version;
        let unreadable = |problem: String| Unknown::Unreadable {
            version: number,
            problem,
        };
        let digest = text.digest.clone();
        let reading = async {
            let read = move || PolicySet::read_saved(&text.policies, text.schema.as_deref());
            let read = spawn_blocking(read).await;
            let set = read.map_err(|error| unreadable(error.to_string()))?;
            let set = set.map_err(|faults| {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                unreadable(faults.join("; "))
            })?;
            if set.digest() != text.digest {
                return Err(unreadable("its digest is another".to_owned()));
            }
            Ok(Arc::new(set))
        };
        let policies = self.sets.try_get_with(digest, reading).await;
        let policies = policies.map_err(|unknown: Arc<Unknown>| Unknown::clone(&unknown))?;
        Ok(Version { number, policies })
    }

    /// Hears of changes, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("follow policies", &stopping);
        while retries.again(self.on_change(&stopping).await).await {}
        Ok(())
    }

    async fn on_change(&self, stopping: &CancellationToken) -> Result<(), journal::Error> {
        let mut changes = self.journal.guard_changes().await?;
        // What changed while nobody followed is not known: everything is asked for anew.
        self.beginnings.fetch_add(1, Ordering::Release);
        self.held.invalidate_all();
        let mut reading = JoinSet::new();
        // Nothing but the end may interrupt the wait for a change: what a wait had taken is lost with it.
        while let Some(changed) = stopping.run_until_cancelled(changes.next()).await {
            for org in changed? {
                let before = self.note_change(org);
                // Those of whom nobody has asked are read when somebody does.
                if self.held.contains_key(&(org, before)) {
                    reading.spawn(self.clone().replace(org, before));
                }
            }
            while reading.try_join_next().is_some() {}
        }
        Ok(())
    }

    /// What was known before the change.
    fn note_change(&self, org: OrgId) -> Heard {
        let (before, _) = self.heard(org);
        let changed = Changed {
            times: before.changes + 1,
            last: Instant::now(),
        };
        let mut all = self.changed.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(org, changed);
        before
    }

    /// Reads new policies at once, so that agents do not wait for it.
    async fn replace(self, org: OrgId, before: Heard) {
        let (heard, _) = self.heard(org);
        // Whoever asks next tries again, and is told if that fails.
        let _ = self.read(org, heard).await;
        self.held.invalidate(&(org, before)).await;
    }
}

impl Guarded {
    /// What answers for an organization that has not written anything.
    fn starter() -> Self {
        let policies = PolicySet::read(starter::POLICIES, None).expect("the starter can be read");
        Self {
            active: Version {
                number: starter::VERSION,
                policies: Arc::new(policies),
            },
            shadow: None,
            settings: Settings::default(),
        }
    }

    fn weight(&self) -> u32 {
        let shadow = self.shadow.as_ref();
        weight(&self.active.policies) + shadow.map_or(0, |shadow| weight(&shadow.policies))
    }
}

fn weight(set: &PolicySet) -> u32 {
    u32::try_from(set.weight().max(1)).unwrap_or(u32::MAX / 2)
}
