//! Whose endpoints are, as last values: that a receiver answered its challenge is known to every worker, and for good.

use domain::{EndpointId, OrgId, delivery::ownership::Ownership};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Changes, from_json, to_json},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

/// How often a change is tried against others' before it is given up; each time another one went through.
const TRIES_MAX: usize = 16;

/// Whose an endpoint is, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipEntry {
    pub org: OrgId,
    pub id: EndpointId,
    /// `None`: an operator removed it, so that the endpoint is asked as if it never was.
    pub value: Option<Ownership>,
    /// What it must be to be changed.
    pub revision: u64,
}

impl OwnershipEntry {
    pub fn holding(ownership: Ownership, revision: u64) -> Self {
        Self {
            org: ownership.org_id,
            id: ownership.id,
            value: Some(ownership),
            revision,
        }
    }
}

impl Journal {
    /// What is known now; `None` if it was never asked.
    pub async fn ownership(
        &self,
        org: OrgId,
        id: EndpointId,
    ) -> Result<Option<OwnershipEntry>, Error> {
        let doing = "look up the ownership of an endpoint";
        let key = &ownership_key(org, id);
        persist(CLIENT_PATIENCE, doing, || async move {
            let Some(found) = self.value(Bucket::Ownership, key, doing).await? else {
                return Ok(None);
            };
            Ok(Some(OwnershipEntry {
                org,
                id,
                value: read_ownership(&found.json)?,
                revision: found.revision,
            }))
        })
        .await
    }

    /// Sets it if it still is as it was at `revision` (0: it was never asked); `None` if it is not, or if it is not
    /// sure that it was us who changed it.
    pub async fn claim_ownership(
        &self,
        ownership: &Ownership,
        revision: u64,
    ) -> Result<Option<u64>, Error> {
        let doing = "change the ownership of an endpoint";
        let key = &ownership_key(ownership.org_id, ownership.id);
        persist(CLIENT_PATIENCE, doing, || {
            let value = ownership_value(ownership);
            self.set_value(Bucket::Ownership, key, value, revision, doing)
        })
        .await
    }

    /// Changes it, against whatever others make of it meanwhile. `unasked` is what it is if it was never asked; the
    /// change may be made twice.
    pub async fn change_ownership(
        &self,
        unasked: &Ownership,
        change: impl Fn(&mut Ownership),
    ) -> Result<OwnershipEntry, Error> {
        let mut revision = 0;
        for _ in 0..TRIES_MAX {
            let known = self.ownership(unasked.org_id, unasked.id).await?;
            revision = known.as_ref().map_or(0, |entry| entry.revision);
            let before = known.and_then(|entry| entry.value);
            let mut ownership = before.clone().unwrap_or_else(|| unasked.clone());
            change(&mut ownership);
            let set = if before.as_ref() == Some(&ownership) {
                Some(revision)
            } else {
                self.claim_ownership(&ownership, revision).await?
            };
            if let Some(revision) = set {
                return Ok(OwnershipEntry::holding(ownership, revision));
            }
        }
        let what = format!("changes to the ownership of endpoint {}", unasked.id);
        Err(Error::behind(&what, revision))
    }

    /// Every endpoint that was asked, then every change.
    pub fn ownership_changes(&self) -> Changes<OwnershipEntry> {
        self.changes(Bucket::Ownership, 0, ownership_entry)
    }
}

fn ownership_key(org: OrgId, id: EndpointId) -> String {
    format!("{org}.{id}")
}

fn ownership_entry(entry: &Entry) -> Option<OwnershipEntry> {
    let mut key = entry.subject.rsplit('.');
    let (id, org) = (key.next()?.parse().ok()?, key.next()?.parse().ok()?);
    match read_ownership(&entry.payload) {
        Ok(value) => Some(OwnershipEntry {
            org,
            id,
            value,
            revision: entry.sequence,
        }),
        Err(error) => {
            tracing::error!(endpoint.id = %id, org.id = %org, %error, "skipped an unreadable endpoint ownership");
            None
        }
    }
}

/// The value as it is written.
pub fn ownership_value(ownership: &Ownership) -> String {
    to_json(ownership)
}

/// The value as written; `None` if it was removed.
pub fn read_ownership(json: &[u8]) -> Result<Option<Ownership>, Error> {
    from_json("ownership of an endpoint", json)
}
