//! Endpoints in trouble: the same for every worker, changed by whoever learns something.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, PoisonError, RwLock},
};

use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::{
        Answer, Outcome,
        endpoint::{Endpoint, Gate, Notice},
    },
};
use journal::{Journal, endpoints::EndpointEntry, mirror::Mirror, streams::Bucket};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// How often a change is tried against others' before it is given up; each time another one went through.
const TRIES_MAX: usize = 16;
/// Changes that a listener may be behind; it looks at everything then.
const NEWS_MAX: usize = 1_024;

/// What every worker knows of endpoints. Cheap to clone.
#[derive(Clone)]
pub struct Endpoints {
    journal: Journal,
    known: Arc<RwLock<HashMap<EndpointId, Known>>>,
    news: broadcast::Sender<EndpointId>,
    mirror: Mirror,
}

/// An endpoint as it is shared, and what was learned since that need not be shared yet.
#[derive(Clone)]
struct Known {
    shared: EndpointEntry,
    ours: Option<Endpoint>,
}

/// What an answer changed.
#[derive(Clone, Debug)]
pub struct Learned {
    pub endpoint: Endpoint,
    pub notices: Vec<Notice>,
}

impl Endpoints {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Endpoints),
            journal,
            known: Arc::default(),
            news: broadcast::Sender::new(NEWS_MAX),
        }
    }

    /// Whether something may be sent there. An endpoint that nothing is known of is well.
    pub fn gate(&self, id: EndpointId, now: Timestamp) -> Gate {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let endpoint = known.get(&id).and_then(|known| known.ours.as_ref());
        endpoint.map_or(Gate::Open, |endpoint| endpoint.gate(now))
    }

    /// An endpoint as this worker knows it.
    pub fn of(&self, org: OrgId, url: &str) -> Endpoint {
        let known = self.known(EndpointId::of(org, url));
        let known = known.and_then(|known| known.ours);
        known.unwrap_or_else(|| Endpoint::new(org, url))
    }

    pub fn has_open_breaker(&self, id: EndpointId) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let endpoint = known.get(&id).and_then(|known| known.ours.as_ref());
        endpoint.is_some_and(|endpoint| endpoint.breaker.is_some())
    }

    /// Endpoints as they change.
    pub fn changes(&self) -> broadcast::Receiver<EndpointId> {
        self.news.subscribe()
    }

    /// Whether the caller may send the one probe that is due.
    pub async fn take_probe(&self, id: EndpointId, now: Timestamp) -> Result<bool, journal::Error> {
        let Some(Known {
            shared,
            ours: Some(mut endpoint),
        }) = self.known(id)
        else {
            return Ok(false);
        };
        if endpoint.gate(now) != Gate::Probe {
            return Ok(false);
        }
        endpoint.start_probe(now);
        let claimed = self.journal.claim_endpoint(&endpoint, shared.revision);
        match claimed.await? {
            Some(revision) => self.apply(vec![shared.holding(&endpoint, revision)]),
            None => {
                let now = self.journal.endpoint(shared.org, id).await?;
                self.apply(now.into_iter().collect());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes note of an answer; `None` if there is nothing to be noted.
    pub async fn learn(
        &self,
        (org, url): (OrgId, &str),
        answer: &Answer,
        trips: bool,
        now: Timestamp,
    ) -> Result<Option<Learned>, journal::Error> {
        let is_fine = answer.outcome == Outcome::Delivered;
        if is_fine && self.url(EndpointId::of(org, url)).is_none() {
            return Ok(None);
        }
        let learn = |endpoint: &mut Endpoint| endpoint.learn(answer, trips, now);
        let (endpoint, notices) = self.change(org, url, learn).await?;
        Ok(Some(Learned { endpoint, notices }))
    }

    /// Changes an endpoint, against whatever others make of it meanwhile. What need not be shared at once
    /// stays here until it does.
    pub async fn change<T>(
        &self,
        org: OrgId,
        url: &str,
        change: impl Fn(&mut Endpoint) -> T,
    ) -> Result<(Endpoint, T), journal::Error> {
        let id = EndpointId::of(org, url);
        let mut known = self.known(id).unwrap_or_else(|| never(org, id));
        for _ in 0..TRIES_MAX {
            let plain = || Endpoint::new(org, url);
            let mut endpoint = known.ours.clone().unwrap_or_else(plain);
            let outcome = change(&mut endpoint);
            let shared = &known.shared;
            if !endpoint.differs_in_substance(&shared.value.clone().unwrap_or_else(plain)) {
                self.keep(shared, endpoint.clone());
                return Ok((endpoint, outcome));
            }
            let set = self.journal.set_endpoint(&endpoint, shared.revision);
            if let Some(revision) = set.await? {
                self.apply(vec![shared.holding(&endpoint, revision)]);
                return Ok((endpoint, outcome));
            }
            let now = self.journal.endpoint(org, id).await?;
            let now = now.unwrap_or_else(|| never(org, id).shared);
            self.apply(vec![now.clone()]);
            known = Known::from(now);
        }
        let what = format!("changes to endpoint {id}");
        Err(journal::Error::behind(&what, known.shared.revision))
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.endpoint_changes();
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
            known.shared.revision = 0;
        }
    }

    /// What is older than what we know already is left out.
    fn apply(&self, entries: Vec<EndpointEntry>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            let before = known.get(&entry.id).map(|known| known.shared.revision);
            if before.is_none_or(|before| before < entry.revision) {
                // Nobody may be listening.
                let _ = self.news.send(entry.id);
                known.insert(entry.id, Known::from(entry));
            }
        }
    }

    /// Keeps what need not be shared, unless there is news.
    fn keep(&self, shared: &EndpointEntry, endpoint: Endpoint) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let was_never_shared = shared.revision == 0;
        let place = known.entry(shared.id);
        match place {
            Entry::Occupied(place) if place.get().shared.revision != shared.revision => {}
            Entry::Occupied(place) if was_never_shared && endpoint.is_plain() => {
                place.remove();
            }
            Entry::Occupied(mut place) => place.get_mut().ours = Some(endpoint),
            Entry::Vacant(place) if was_never_shared && !endpoint.is_plain() => {
                place.insert(Known {
                    shared: shared.clone(),
                    ours: Some(endpoint),
                });
            }
            Entry::Vacant(_) => {}
        }
    }

    fn known(&self, id: EndpointId) -> Option<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).cloned()
    }

    /// The URL of an endpoint in trouble.
    fn url(&self, id: EndpointId) -> Option<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let endpoint = known.get(&id)?.ours.as_ref()?;
        Some(endpoint.url.clone())
    }
}

impl From<EndpointEntry> for Known {
    fn from(shared: EndpointEntry) -> Self {
        Self {
            ours: shared.value.clone(),
            shared,
        }
    }
}

/// An endpoint that never was in trouble.
fn never(org: OrgId, id: EndpointId) -> Known {
    Known::from(EndpointEntry {
        org,
        id,
        value: None,
        revision: 0,
    })
}
