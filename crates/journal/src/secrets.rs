//! Signing secrets as last values, sealed: one value for each organisation, so that a promotion is one
//! change and no node ever sees half of it.

use domain::{OrgId, secret::Secret};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Journal,
    config::{Change, from_json, to_json},
    follow::{Entry, Follower},
    streams::Bucket,
};

/// A secret as a node is told of it: its life, and its text as only the deployment can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    #[serde(flatten)]
    pub secret: Secret,
    pub sealed: String,
}

/// Everything an organisation signs with, or is going to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecrets {
    pub secrets: Vec<SealedSecret>,
}

/// The secrets of an organisation as they are now.
#[derive(Debug)]
pub struct SecretsChange {
    pub org: OrgId,
    /// An error is told and not passed over: a node that cannot read what an organisation signs with must
    /// not sign with something else.
    pub value: Result<Option<SealedSecrets>, Error>,
}

/// Reads the secrets of every organisation, then every change.
pub struct SecretChanges(Follower);

impl Change {
    pub fn secrets_saved(org: OrgId, secrets: &SealedSecrets) -> Self {
        Self {
            bucket: Bucket::Secrets,
            key: org.to_string(),
            value: Some(to_json(secrets)),
        }
    }
}

impl Journal {
    pub fn secret_changes(&self) -> SecretChanges {
        SecretChanges(self.follow_bucket(Bucket::Secrets, 0))
    }

    /// The sequence of the newest change of secrets there is.
    pub async fn newest_secret_change(&self) -> Result<u64, Error> {
        self.newest_change(Bucket::Secrets).await
    }
}

impl SecretChanges {
    /// Waits for changes.
    pub async fn next(&mut self) -> Result<Vec<SecretsChange>, Error> {
        const CHANGES_MAX: usize = 1_000;
        let entries = self.0.next(CHANGES_MAX).await?;
        Ok(entries.iter().filter_map(change).collect())
    }

    /// The sequence up to which every change has been returned.
    pub fn position(&self) -> u64 {
        self.0.position()
    }
}

/// An organisation's secrets as announced; `None` if it has none.
pub fn read_secrets(json: &[u8]) -> Result<Option<SealedSecrets>, Error> {
    from_json("signing secrets", json)
}

fn change(entry: &Entry) -> Option<SecretsChange> {
    let org = entry.subject.rsplit('.').next()?.parse().ok()?;
    let value = read_secrets(&entry.payload);
    Some(SecretsChange { org, value })
}
