//! Last values: what the control plane decides, where every node can read it. Keys and rules are here,
//! [endpoints](crate::endpoints), [whose they are](crate::ownership), [secrets](crate::secrets), [guards](crate::guards) and
//! [approvals](crate::approvals) in files of their own.
//!
//! A value is JSON with its version in front (`{"v":1,...}`), so that an operator can read it. An
//! empty value means that the thing is gone.

use std::{collections::BTreeMap, fmt::Display, time::Duration};

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use domain::{
    KeyId, OrgId, RuleId, Timestamp,
    account::{Agents, KeyHash, Scope},
    rule::Rule,
};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::timeout;

use crate::{
    Error, Journal,
    follow::{Entry, Follower},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

/// How many values are read in one go.
const VALUES_AT_ONCE: usize = 1_000;
/// A bucket that was emptied meanwhile has no more of them, and nobody says so.
const VALUES_WITHIN: Duration = Duration::from_secs(10);

/// What a node must know of an API key to serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyEntry {
    pub id: KeyId,
    pub org_id: OrgId,
    /// Those this version knows; a newer one may have written others.
    #[serde(deserialize_with = "known_scopes")]
    pub scopes: Vec<Scope>,
    pub expires_at: Option<Timestamp>,
    /// Whom it speaks for. Older versions wrote nothing, and read nothing.
    #[serde(default, skip_serializing_if = "Agents::are_all")]
    pub agents: Agents,
}

fn known_scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Scope>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}

/// A value with its version in front.
#[derive(Serialize, Deserialize)]
#[serde(tag = "v")]
enum Versioned<T> {
    #[serde(rename = "1")]
    V1(T),
}

/// One thing to be made known to every node, or (`value: None`) forgotten by all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub bucket: Bucket,
    pub key: String,
    pub value: Option<String>,
}

impl Change {
    pub fn key_made(hash: &KeyHash, entry: &KeyEntry) -> Self {
        Self {
            bucket: Bucket::Keys,
            key: hash.as_str().to_owned(),
            value: Some(to_json(entry)),
        }
    }

    pub fn key_gone(hash: &KeyHash) -> Self {
        Self {
            bucket: Bucket::Keys,
            key: hash.as_str().to_owned(),
            value: None,
        }
    }

    pub fn rule_gone(org: OrgId, rule: RuleId) -> Self {
        Self {
            bucket: Bucket::Rules,
            key: rule_key(org, rule),
            value: None,
        }
    }

    pub fn rule_saved(rule: &Rule) -> Self {
        Self {
            bucket: Bucket::Rules,
            key: rule_key(rule.org_id, rule.id),
            value: Some(to_json(rule)),
        }
    }
}

/// A change of a rule as a node sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleChange {
    pub org: OrgId,
    pub rule: RuleId,
    /// `None`: the rule is gone.
    pub value: Option<Rule>,
}

/// What tells a bucket from one that was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketState {
    /// When it was made, in nanoseconds since 1970.
    pub created: String,
    pub is_empty: bool,
}

/// Reads the values of a bucket, then every change.
pub struct Changes<T> {
    follower: Follower,
    read: fn(&Entry) -> Option<T>,
}

impl Journal {
    /// Makes a change known; returns when it is durable. `name` tells the changes of one thing
    /// apart: a try that was slow on its way must not arrive after a newer change and undo it.
    pub async fn announce(&self, change: &Change, name: impl Display) -> Result<(), Error> {
        let value = change.value.clone().unwrap_or_default();
        let message = PublishMessage::build()
            .message_id(format!("{}-{name}", change.key))
            .payload(Bytes::from(value));
        self.publish(
            &self.names.bucket_subject(change.bucket, &change.key),
            message,
            CLIENT_PATIENCE,
        )
        .await
    }

    /// What is known of a key, asked of the leader, so that a key just made is found.
    pub async fn key(&self, hash: &KeyHash) -> Result<Option<KeyEntry>, Error> {
        let doing = "look up an API key";
        persist(CLIENT_PATIENCE, doing, || async {
            match self.value(Bucket::Keys, hash.as_str(), doing).await? {
                Some(value) => read_key(&value.json),
                None => Ok(None),
            }
        })
        .await
    }

    /// Every rule there is, then every change.
    pub fn rule_changes(&self) -> Changes<RuleChange> {
        self.changes(Bucket::Rules, 0, rule_change)
    }

    /// Which keys have changed. Starts at the newest change: the keys there are already are looked up
    /// when they are used.
    pub async fn key_changes(&self) -> Result<Changes<KeyHash>, Error> {
        let newest = self.newest_change(Bucket::Keys).await?;
        let hash = |entry: &Entry| entry.subject.rsplit('.').next().map(KeyHash::from_text);
        Ok(self.changes(Bucket::Keys, newest, hash))
    }

    pub(crate) fn changes<T>(
        &self,
        bucket: Bucket,
        position: u64,
        read: fn(&Entry) -> Option<T>,
    ) -> Changes<T> {
        Changes {
            follower: self.follow_bucket(bucket, position),
            read,
        }
    }

    /// Whether a bucket is the one that it was, and has anything in it.
    pub async fn bucket_state(&self, bucket: Bucket) -> Result<BucketState, Error> {
        let state = self.stream_state(self.names.bucket_stream(bucket)).await?;
        Ok(BucketState {
            created: state.created,
            is_empty: state.messages == 0,
        })
    }

    /// The last value of each thing in a bucket, as of now; `None` if it is gone.
    pub async fn values(&self, bucket: Bucket) -> Result<BTreeMap<String, Option<String>>, Error> {
        let newest = self.newest_change(bucket).await?;
        let before_key = self.names.bucket_subject(bucket, "");
        let mut follower = self.follow_bucket(bucket, 0);
        let mut values = BTreeMap::new();
        while follower.position() < newest {
            let read = timeout(VALUES_WITHIN, follower.next(VALUES_AT_ONCE)).await;
            let late = |elapsed| Error::unavailable("read the last values of a bucket", elapsed);
            for entry in read.map_err(late)?? {
                if let Some(key) = entry.subject.strip_prefix(&before_key) {
                    let value = String::from_utf8_lossy(&entry.payload).into_owned();
                    values.insert(key.to_owned(), (!value.is_empty()).then_some(value));
                }
            }
        }
        Ok(values)
    }

    /// The sequence of the newest change there is: what a snapshot must have applied to be current. A
    /// bucket that was emptied by hand has none, whatever its last sequence.
    pub async fn newest_change(&self, bucket: Bucket) -> Result<u64, Error> {
        let state = self.stream_state(self.names.bucket_stream(bucket)).await?;
        Ok(if state.messages == 0 {
            0
        } else {
            state.last_sequence
        })
    }
}

impl<T> Changes<T> {
    /// Waits for changes. One that cannot be read is skipped: an old node must go on with what it
    /// understands.
    pub async fn next(&mut self) -> Result<Vec<T>, Error> {
        const CHANGES_MAX: usize = 1_000;
        let entries = self.follower.next(CHANGES_MAX).await?;
        Ok(entries.iter().filter_map(self.read).collect())
    }

    /// Whether everything is returned again, because the bucket was made anew or put back to an earlier state.
    pub(crate) async fn begin_anew(&mut self) -> Result<bool, Error> {
        self.follower.begins_anew().await
    }

    /// The sequence up to which every change has been returned.
    pub fn position(&self) -> u64 {
        self.follower.position()
    }
}

fn rule_change(entry: &Entry) -> Option<RuleChange> {
    let mut key = entry.subject.rsplit('.');
    let (rule, org) = (key.next()?.parse().ok()?, key.next()?.parse().ok()?);
    match read_rule(&entry.payload) {
        Ok(value) => Some(RuleChange { org, rule, value }),
        Err(error) => {
            tracing::error!(rule.id = %rule, org.id = %org, %error, "skipped an unreadable rule");
            None
        }
    }
}

/// A key's value as announced; `None` if the key is gone.
pub fn read_key(json: &[u8]) -> Result<Option<KeyEntry>, Error> {
    from_json("API key", json)
}

/// A rule's value as announced; `None` if the rule is gone.
pub fn read_rule(json: &[u8]) -> Result<Option<Rule>, Error> {
    from_json("rule", json)
}

fn rule_key(org: OrgId, rule: RuleId) -> String {
    format!("{org}.{rule}")
}

pub(crate) fn to_json<T: Serialize>(value: T) -> String {
    serde_json::to_string(&Versioned::V1(value)).expect("a record of plain fields always encodes")
}

pub(crate) fn from_json<T: for<'de> Deserialize<'de>>(
    what: &'static str,
    json: &[u8],
) -> Result<Option<T>, Error> {
    if json.is_empty() {
        return Ok(None);
    }
    match serde_json::from_slice(json) {
        Ok(Versioned::V1(value)) => Ok(Some(value)),
        Err(error) => Err(Error::Corrupt {
            what,
            problem: error.to_string(),
        }),
    }
}
