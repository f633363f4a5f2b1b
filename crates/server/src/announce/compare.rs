//! Compares what the database says with what was announced, and has the difference announced.
//!
//! The two differ after one of them was lost or restored from a backup: a journal that is empty or older lacks what was
//! decided since; a database that is older does not know what nodes still act by.

use std::collections::BTreeMap;

use domain::Timestamp;
use journal::{
    Journal,
    endpoints::{endpoint_key, endpoint_value, read_endpoint},
    kv::{Change, KeyEntry},
    streams::Bucket,
};
use serde::Serialize;
use store::{Store, announcements::Announcements};

use super::Announcer;
use crate::{
    alerts::change::for_matching, apply_log::Error, deliveries::secrets::manage, policies::starter,
};

/// What the control plane announces, and endpoints, of which the database is told; the other buckets are the data plane's own.
/// Keys come last: nobody is let in before it is known what they may do, and to whom nothing is sent.
pub(crate) const COMPARED: [Bucket; 5] = [
    Bucket::Endpoints,
    Bucket::Secrets,
    Bucket::Guards,
    Bucket::Rules,
    Bucket::Keys,
];

/// One thing that the journal says otherwise than the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    pub bucket: &'static str,
    pub key: String,
    pub state: State,
    /// What the database says; `None`: it has no such thing.
    #[serde(skip)]
    value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The journal has nothing of it: it is not in force.
    Missing,
    /// The journal says something else: what is in force is not what was decided.
    Stale,
    /// Only the journal knows it: it is in force, and nobody can see or revoke it.
    Unknown,
}

/// What differs now. Changes under way may show as well: look again.
pub(crate) async fn differences(
    store: &Store,
    journal: &Journal,
    buckets: &[Bucket],
    now: Timestamp,
) -> Result<Vec<Difference>, Error> {
    compare(&mut store.announcements().await?, journal, buckets, now).await
}

impl Announcer {
    /// Makes the journal say what the database says, of differences that are `meant`; returns them, when every node can
    /// know.
    pub(crate) async fn announce_again(
        &self,
        buckets: &[Bucket],
        now: Timestamp,
        meant: fn(&Difference) -> bool,
    ) -> Result<Vec<Difference>, Error> {
        // Whoever wants to change something waits only if there is something to do.
        let mut found = differences(&self.store, &self.journal, buckets, now).await?;
        found.retain(meant);
        if found.is_empty() {
            return Ok(found);
        }
        let mut held = self.store.hold_announcements().await?;
        let mut found = compare(&mut held, &self.journal, buckets, now).await?;
        found.retain(meant);
        let is_endpoint = |one: &&Difference| one.bucket == Bucket::Endpoints.as_str();
        let announced = found.iter().filter(|one| !is_endpoint(one));
        held.tell(announced.map(Difference::entry).collect())
            .await?;
        self.announce().await?;
        for lost in found.iter().filter(is_endpoint) {
            let value = lost.value.as_deref().unwrap_or_default();
            if let Some(endpoint) = read_endpoint(value.as_bytes())? {
                // Unless a worker has learned something of it meanwhile.
                self.journal.set_endpoint(&endpoint, 0).await?;
            }
        }
        Ok(found)
    }
}

impl Difference {
    fn entry(&self) -> store::outbox::OutboxEntry {
        store::outbox::OutboxEntry {
            bucket: self.bucket.to_owned(),
            key: self.key.clone(),
            value: self.value.clone(),
        }
    }
}

async fn compare(
    held: &mut Announcements,
    journal: &Journal,
    buckets: &[Bucket],
    now: Timestamp,
) -> Result<Vec<Difference>, Error> {
    let mut all = Vec::new();
    for bucket in buckets {
        let wanted = wanted(held, *bucket, now).await?;
        let announced = journal.values(*bucket).await?;
        all.extend(between(*bucket, wanted, announced));
    }
    Ok(all)
}

/// What differs between what is wanted and what was announced.
fn between(
    bucket: Bucket,
    wanted: BTreeMap<String, String>,
    mut announced: BTreeMap<String, Option<String>>,
) -> Vec<Difference> {
    // Of an endpoint the journal knows more than the database, unless it knows nothing.
    let is_told = bucket == Bucket::Endpoints;
    if !is_told {
        announced.retain(|_, value| value.is_some());
    }
    let bucket = bucket.as_str();
    let mut all = Vec::new();
    for (key, value) in wanted {
        let state = match announced.remove(&key) {
            Some(announced) if is_told || announced.as_ref() == Some(&value) => continue,
            Some(_) => State::Stale,
            None => State::Missing,
        };
        all.push(Difference {
            bucket,
            key,
            state,
            value: Some(value),
        });
    }
    let unknown = announced.into_keys().filter(|_| !is_told);
    all.extend(unknown.map(|key| Difference {
        bucket,
        key,
        state: State::Unknown,
        value: None,
    }));
    all
}

/// What the database wants every node to know, by key.
async fn wanted(
    held: &mut Announcements,
    bucket: Bucket,
    now: Timestamp,
) -> Result<BTreeMap<String, String>, Error> {
    let mut wanted = BTreeMap::new();
    let mut want = |change: Change| {
        if let Some(value) = change.value {
            wanted.insert(change.key, value);
        }
    };
    match bucket {
        Bucket::Keys => {
            let mut after = None;
            loop {
                let keys = held.keys(after.as_ref()).await?;
                let Some(last) = keys.last() else { break };
                after = Some(last.hash.clone());
                for key in keys {
                    let entry = KeyEntry {
                        id: key.id,
                        org_id: key.org,
                        scopes: key.scopes,
                        expires_at: key.expires_at,
                        agents: key.agents,
                    };
                    want(Change::key_made(&key.hash, &entry));
                }
            }
        }
        Bucket::Rules => {
            let mut after = None;
            loop {
                let rules = held.rules(after).await?;
                let Some(last) = rules.last() else { break };
                after = Some((last.rule.org_id, last.rule.id));
                for stored in rules {
                    want(Change::rule_saved(&for_matching(&stored.rule)));
                }
            }
        }
        Bucket::Secrets => {
            let mut after = None;
            loop {
                let secrets = held.secrets(after, now).await?;
                let Some((last, _)) = secrets.last() else {
                    break;
                };
                after = Some(*last);
                for (org, rows) in secrets {
                    want(manage::in_force(org, &rows, now));
                }
            }
        }
        Bucket::Guards => {
            let mut after = None;
            loop {
                let guards = held.guards(after, starter::text()).await?;
                let Some((last, _)) = guards.last() else {
                    break;
                };
                after = Some(*last);
                for (org, guard) in guards {
                    want(Change::guard_saved(org, &guard));
                }
            }
        }
        Bucket::Endpoints => {
            let mut after = None;
            loop {
                let endpoints = held.endpoints(after).await?;
                let Some(last) = endpoints.last() else { break };
                after = Some((last.org_id, last.id));
                for endpoint in endpoints.iter().filter(|endpoint| !endpoint.is_plain()) {
                    want(Change {
                        bucket,
                        key: endpoint_key(endpoint.org_id, endpoint.id),
                        value: Some(endpoint_value(endpoint)),
                    });
                }
            }
        }
        Bucket::Ownership | Bucket::Cancels | Bucket::Approvals => {}
    }
    Ok(wanted)
}
