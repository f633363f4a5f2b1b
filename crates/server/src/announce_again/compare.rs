//! Compares what the database says with what was announced, and has the difference announced.
//!
//! The two differ after one of them was lost or restored from a backup: a journal that is empty or older lacks what was
//! decided since; a database that is older does not know what nodes still act by.

use std::collections::BTreeMap;

use domain::{
    OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Status},
};
use journal::{
    Journal,
    endpoints::{endpoint_key, endpoint_value, read_endpoint},
    kv::{Change, KeyEntry, read_key},
    streams::Bucket,
};
use serde::Serialize;
use serde_json::{Map, Value};
use store::{
    Store,
    announcements::{Announcements, TrailNote},
};

use crate::{
    alerts::change::for_matching, announce::Announcer, apply_log::Error,
    deliveries::secrets::manage, policies::starter,
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
    /// `None` if what the journal says of it cannot be read.
    #[serde(skip)]
    org: Option<OrgId>,
    /// What the database says; `None`: it has no such thing.
    #[serde(skip)]
    value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The journal has nothing of it: it is not in force.
    Missing,
    /// The journal says something else, or that it is gone: what is in force is not what was decided.
    Stale,
    /// Only the journal knows it: it is in force, and nobody can see or revoke it.
    Unknown,
}

/// Why everything is announced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A node found that the journal had lost it. Whatever the journal does know is left to an operator: it may be the database
    /// that is older, and a key that was revoked must not work again by itself.
    Lost,
    /// An operator said so.
    Asked,
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
    /// Makes the journal say what the database says, as far as the cause asks for it; returns what differed, when every node can
    /// know. The trail of each organization is told.
    pub(crate) async fn announce_again(
        &self,
        buckets: &[Bucket],
        now: Timestamp,
        cause: Cause,
    ) -> Result<Vec<Difference>, Error> {
        // Whoever wants to change something waits only if there is something to do.
        let mut found = differences(&self.store, &self.journal, buckets, now).await?;
        found.retain(|one| cause.asks_for(one));
        if found.is_empty() {
            return Ok(found);
        }
        // One at a time. Whoever waited for another finds nothing left to do.
        let mut held = self.store.hold_announcements().await?;
        let mut found = compare(&mut held, &self.journal, buckets, now).await?;
        found.retain(|one| cause.asks_for(one));
        let is_endpoint = |one: &&Difference| one.bucket == Bucket::Endpoints.as_str();
        for lost in found.iter().filter(is_endpoint) {
            let value = lost.value.as_deref().unwrap_or_default();
            if let Some(endpoint) = read_endpoint(value.as_bytes())? {
                // Unless a worker has learned something of it meanwhile.
                self.journal.set_endpoint(&endpoint, 0).await?;
            }
        }
        let announced = found.iter().filter(|one| !is_endpoint(one));
        let note = TrailNote {
            by: cause.by(),
            at: now,
            details: by_organization(&found, cause),
        };
        held.tell(announced.map(Difference::entry).collect(), note)
            .await?;
        self.announce().await?;
        Ok(found)
    }
}

impl Cause {
    fn asks_for(self, one: &Difference) -> bool {
        self == Self::Asked || one.state == State::Missing
    }

    fn by(self) -> &'static str {
        match self {
            Self::Lost => "watchbell",
            Self::Asked => "operator",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Lost => "the journal had lost what was announced",
            Self::Asked => "an operator had everything announced again",
        }
    }
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
    }
}

/// What the trail of each organization is told: how much of what differed, and why it was announced again.
fn by_organization(found: &[Difference], cause: Cause) -> BTreeMap<OrgId, Value> {
    let mut counts: BTreeMap<OrgId, BTreeMap<&str, BTreeMap<&str, usize>>> = BTreeMap::new();
    for one in found {
        if let Some(org) = one.org {
            let states = counts.entry(org).or_default();
            let buckets = states.entry(one.state.as_str()).or_default();
            *buckets.entry(one.bucket).or_default() += 1;
        }
    }
    let details = |states: BTreeMap<&str, BTreeMap<&str, usize>>| {
        let mut details = Map::from_iter([("reason".to_owned(), cause.reason().into())]);
        for (state, buckets) in states {
            let buckets = buckets
                .into_iter()
                .map(|(of, count)| (of.to_owned(), count.into()));
            details.insert(state.to_owned(), Value::Object(buckets.collect()));
        }
        Value::Object(details)
    };
    let told = counts.into_iter();
    told.map(|(org, states)| (org, details(states))).collect()
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
        let waiting = held.waiting(bucket.as_str()).await?;
        let mut announced = journal.values(*bucket).await?;
        // What waits to be announced is not lost.
        announced.extend(waiting);
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
    let mut all = Vec::new();
    for (key, value) in wanted {
        let state = match announced.remove(&key) {
            Some(announced) if is_told || announced.as_ref() == Some(&value) => continue,
            Some(_) => State::Stale,
            None => State::Missing,
        };
        all.push(Difference {
            bucket: bucket.as_str(),
            state,
            org: whose(bucket, &key, Some(&value)),
            key,
            value: Some(value),
        });
    }
    let is_in_force = |(_, value): &(String, Option<String>)| value.is_some() && !is_told;
    let unknown = announced.into_iter().filter(is_in_force);
    all.extend(unknown.map(|(key, value)| Difference {
        bucket: bucket.as_str(),
        state: State::Unknown,
        org: whose(bucket, &key, value.as_deref()),
        key,
        value: None,
    }));
    all
}

/// The organization of a value.
fn whose(bucket: Bucket, key: &str, value: Option<&str>) -> Option<OrgId> {
    if bucket == Bucket::Keys {
        let entry = read_key(value?.as_bytes()).ok()??;
        return Some(entry.org_id);
    }
    key.split('.').next()?.parse().ok()
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
                // Whether it is well now is for workers to learn: what is on record is as of the last notice.
                for stored in endpoints {
                    if stored.status == Status::Active {
                        continue;
                    }
                    let endpoint = Endpoint {
                        status: stored.status,
                        gone_at: stored.gone_at,
                        ..Endpoint::new(stored.org_id, stored.url)
                    };
                    want(Change {
                        bucket,
                        key: endpoint_key(endpoint.org_id, endpoint.id),
                        value: Some(endpoint_value(&endpoint)),
                    });
                }
            }
        }
        Bucket::Ownership | Bucket::Cancels | Bucket::Approvals => {}
    }
    Ok(wanted)
}
