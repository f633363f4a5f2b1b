//! Policies as last values: one for each organization that has any of its own, so that a version comes into
//! force whole.

use domain::{OrgId, guard::Guard};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Change, Changes, from_json, to_json},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

impl Change {
    pub fn guard_saved(org: OrgId, guard: &Guard) -> Self {
        Self {
            bucket: Bucket::Guards,
            key: org.to_string(),
            value: Some(to_json(guard)),
        }
    }
}

impl Journal {
    /// An organization's policies, asked of the leader; `None` if it has none of its own.
    pub async fn guard(&self, org: OrgId) -> Result<Option<Guard>, Error> {
        let doing = "look up policies";
        let key = &org.to_string();
        persist(CLIENT_PATIENCE, doing, || async move {
            match self.value(Bucket::Guards, key, doing).await? {
                Some(value) => read_guard(&value.json),
                None => Ok(None),
            }
        })
        .await
    }

    /// Whose policies have changed. Starts at the newest change: those there are already are looked up when
    /// they are needed.
    pub async fn guard_changes(&self) -> Result<Changes<OrgId>, Error> {
        let newest = self.newest_change(Bucket::Guards).await?;
        let org = |entry: &Entry| entry.subject.rsplit('.').next()?.parse().ok();
        Ok(self.changes(Bucket::Guards, newest, org))
    }
}

/// An organization's policies as announced; `None` if it has none of its own.
pub fn read_guard(json: &[u8]) -> Result<Option<Guard>, Error> {
    from_json("policies", json)
}

#[cfg(test)]
mod tests {
    use domain::guard::{PolicyText, Settings};
    use uuid::Uuid;

    use super::*;

    /// As version 1 writes it. The file is never changed; a new shape is a new version and a new file.
    const GUARD_V1: &[u8] = include_bytes!("../golden/guard.v1.json");

    #[test]
    fn the_value_of_version_1_is_read_and_written_to_the_byte() {
        let text = |version| PolicyText {
            version,
            digest: format!("sha256:{}", "0".repeat(64)),
            policies: "permit (principal, action, resource);".to_owned(),
            schema: None,
        };
        let guard = Guard {
            active: text(2),
            shadow: Some(text(3)),
            settings: Settings::default(),
        };
        let org = OrgId::from_uuid(Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_0001));
        let written = Change::guard_saved(org, &guard).value;
        assert_eq!(written.expect("a value").as_bytes(), GUARD_V1);
        assert_eq!(read_guard(GUARD_V1).expect("readable"), Some(guard));
        assert!(read_guard(br#"{"v":"2"}"#).is_err());
        assert_eq!(read_guard(b"").expect("gone"), None);
    }
}
