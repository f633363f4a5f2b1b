//! Signing secrets as last values, sealed: one value for each organization, so that a promotion is one
//! change and no node ever sees half of it.

use domain::{OrgId, secret::Secret};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Change, Changes, from_json, to_json},
    streams::Bucket,
};

/// A secret as a node is told of it: its life, and its text as only the deployment can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret {
    #[serde(flatten)]
    pub secret: Secret,
    pub sealed: String,
}

/// Everything an organization signs with, or is going to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecrets {
    pub secrets: Vec<SealedSecret>,
}

/// The secrets of an organization as they are now.
#[derive(Debug)]
pub struct SecretsChange {
    pub org: OrgId,
    /// An error is told and not passed over: a node that cannot read what an organization signs with must
    /// not sign with something else.
    pub value: Result<Option<SealedSecrets>, Error>,
}

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
    /// The secrets of every organization, then every change.
    pub fn secret_changes(&self) -> Changes<SecretsChange> {
        self.changes(Bucket::Secrets, 0, change)
    }
}

/// An organization's secrets as announced; `None` if it has none.
pub fn read_secrets(json: &[u8]) -> Result<Option<SealedSecrets>, Error> {
    from_json("signing secrets", json)
}

fn change(entry: &Entry) -> Option<SecretsChange> {
    let org = entry.subject.rsplit('.').next()?.parse().ok()?;
    let value = read_secrets(&entry.payload);
    Some(SecretsChange { org, value })
}

#[cfg(test)]
mod tests {
    use domain::{SecretId, Timestamp};
    use uuid::Uuid;

    use super::*;

    /// As version 1 writes it. The file is never changed; a new shape is a new version and a new file.
    const SECRETS_V1: &[u8] = include_bytes!("../golden/secrets.v1.json");

    #[test]
    fn the_value_of_version_1_is_read_and_written_to_the_byte() {
        let at = |millis: i64| Timestamp::from_unix_millis(1_794_735_000_000 + millis);
        let secret = Secret {
            id: SecretId::from_uuid(Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_003c)),
            created_at: at(0),
            promoted_at: Some(at(1)),
            ends_at: None,
            deployment_ends_at: Some(at(2)),
        };
        let sealed = "v1.0a1b2c3d.AAAA".to_owned();
        let secrets = SealedSecrets {
            secrets: vec![SealedSecret { secret, sealed }],
        };
        let org = OrgId::from_uuid(Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_0001));
        let written = Change::secrets_saved(org, &secrets).value;
        assert_eq!(written.expect("a value").as_bytes(), SECRETS_V1);
        assert_eq!(read_secrets(SECRETS_V1).expect("readable"), Some(secrets));
        assert!(read_secrets(br#"{"v":"2"}"#).is_err());
        assert_eq!(read_secrets(b"").expect("gone"), None);
    }
}
