//! Whose endpoints are: which may be sent to, and which are to be asked.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{EndpointId, OrgId, Timestamp, delivery::ownership::Ownership};
use journal::{Journal, mirror::Mirror, ownership::OwnershipEntry, streams::Bucket};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Changes that a listener may be behind; it looks at everything then.
const NEWS_MAX: usize = 1_024;

/// What every worker knows of whose endpoints are. Cheap to clone.
#[derive(Clone)]
pub struct Owners {
    journal: Journal,
    /// Whether endpoints must have answered a challenge.
    are_wanted: bool,
    known: Arc<RwLock<HashMap<EndpointId, OwnershipEntry>>>,
    news: broadcast::Sender<EndpointId>,
    mirror: Mirror,
}

impl Owners {
    pub fn new(journal: Journal, are_wanted: bool) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Ownership),
            journal,
            are_wanted,
            known: Arc::default(),
            news: broadcast::Sender::new(NEWS_MAX),
        }
    }

    pub fn are_wanted(&self) -> bool {
        self.are_wanted
    }

    /// Whether deliveries may be sent there.
    pub fn may_be_sent_to(&self, id: EndpointId) -> bool {
        if !self.are_wanted() {
            return true;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let ownership = known.get(&id).and_then(|entry| entry.value.as_ref());
        ownership.is_some_and(Ownership::is_verified)
    }

    /// If a challenge is due, when the one before was sent; very long ago if there was none.
    pub fn due(&self, id: EndpointId, now: Timestamp) -> Option<Timestamp> {
        let never = Timestamp::default();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(ownership) = known.get(&id).and_then(|entry| entry.value.as_ref()) else {
            return Some(never);
        };
        let is_due = ownership.ask_at().is_some_and(|ask_at| ask_at <= now);
        is_due.then(|| ownership.asked_at().unwrap_or(never))
    }

    /// Endpoints of which something changed.
    pub fn changes(&self) -> broadcast::Receiver<EndpointId> {
        self.news.subscribe()
    }

    /// Takes the challenge that is due, and says which it is; `None` if none is, or another worker took it.
    pub async fn take_challenge(
        &self,
        org: OrgId,
        url: &str,
        now: Timestamp,
    ) -> Result<Option<u32>, journal::Error> {
        let id = EndpointId::of(org, url);
        let known = self.known(id);
        let revision = known.as_ref().map_or(0, |entry| entry.revision);
        let ownership = known.and_then(|entry| entry.value);
        let mut ownership = ownership.unwrap_or_else(|| Ownership::new(org, url, now));
        let Some(number) = ownership.start(now) else {
            return Ok(None);
        };
        let claimed = self.journal.claim_ownership(&ownership, revision).await?;
        let Some(revision) = claimed else {
            let now = self.journal.ownership(org, id).await?;
            self.apply(now.into_iter().collect());
            return Ok(None);
        };
        self.apply(vec![OwnershipEntry::holding(ownership, revision)]);
        Ok(Some(number))
    }

    /// What came of a challenge, whatever others make of the endpoint meanwhile.
    pub async fn change(
        &self,
        org: OrgId,
        url: &str,
        now: Timestamp,
        change: impl Fn(&mut Ownership),
    ) -> Result<(), journal::Error> {
        let unasked = Ownership::new(org, url, now);
        let changed = self.journal.change_ownership(&unasked, change).await?;
        self.apply(vec![changed]);
        Ok(())
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        if self.are_wanted() {
            self.mirror.catch_up().await
        } else {
            Ok(())
        }
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.ownership_changes();
        let apply = |changes| self.apply(changes);
        let begin_anew = || self.begin_anew();
        self.mirror
            .follow_revisions(changes, apply, begin_anew, stopping)
            .await
    }

    /// Whatever comes now is newer than what we know, which stands until then.
    fn begin_anew(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for known in known.values_mut() {
            known.revision = 0;
        }
    }

    /// What is older than what we know already is left out.
    fn apply(&self, entries: Vec<OwnershipEntry>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            let id = entry.id;
            let before = known.get(&id).map(|known| known.revision);
            if before.is_none_or(|before| before < entry.revision) {
                known.insert(id, entry);
                // Nobody may be listening.
                let _ = self.news.send(id);
            }
        }
    }

    fn known(&self, id: EndpointId) -> Option<OwnershipEntry> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).cloned()
    }
}
