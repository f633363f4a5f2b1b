//! Endpoints in trouble as last values: what every worker must know.
//!
//! An endpoint is changed by comparing and setting it, by whichever worker learned something. One that is
//! well again has an empty value, as if it never had one.

use domain::{EndpointId, OrgId, delivery::endpoint::Endpoint};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Changes, from_json, to_json},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

/// An endpoint as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointEntry {
    pub org: OrgId,
    pub id: EndpointId,
    /// `None`: it is well.
    pub value: Option<Endpoint>,
    /// What it must be to be changed.
    pub revision: u64,
}

impl EndpointEntry {
    /// The same with another value.
    pub fn holding(&self, endpoint: &Endpoint, revision: u64) -> Self {
        Self {
            value: (!endpoint.is_plain()).then(|| endpoint.clone()),
            revision,
            ..*self
        }
    }
}

impl Journal {
    /// An endpoint as it is now; `None` if it never was in trouble.
    pub async fn endpoint(
        &self,
        org: OrgId,
        id: EndpointId,
    ) -> Result<Option<EndpointEntry>, Error> {
        let doing = "look up an endpoint";
        let key = &endpoint_key(org, id);
        persist(CLIENT_PATIENCE, doing, || async move {
            let Some(found) = self.value(Bucket::Endpoints, key, doing).await? else {
                return Ok(None);
            };
            Ok(Some(EndpointEntry {
                org,
                id,
                value: read_endpoint(&found.json)?,
                revision: found.revision,
            }))
        })
        .await
    }

    /// Sets an endpoint if it still is as it was at `revision` (0: it never was in trouble); `None` if
    /// somebody else changed it meanwhile. Should somebody else have made the very same change, it counts as ours.
    pub async fn set_endpoint(
        &self,
        endpoint: &Endpoint,
        revision: u64,
    ) -> Result<Option<u64>, Error> {
        if let Some(set) = self.claim_endpoint(endpoint, revision).await? {
            return Ok(Some(set));
        }
        // An earlier try of it may have worked, and the answer got lost.
        let now = self.endpoint(endpoint.org_id, endpoint.id).await?;
        let ours = (!endpoint.is_plain()).then_some(endpoint);
        let is_ours = |now: &EndpointEntry| now.value.as_ref() == ours && now.revision > revision;
        Ok(now.filter(is_ours).map(|now| now.revision))
    }

    /// The same for what only one may do: if it is not sure that it was us, it was not.
    pub async fn claim_endpoint(
        &self,
        endpoint: &Endpoint,
        revision: u64,
    ) -> Result<Option<u64>, Error> {
        let doing = "change an endpoint";
        let key = &endpoint_key(endpoint.org_id, endpoint.id);
        persist(CLIENT_PATIENCE, doing, || {
            let value = endpoint_value(endpoint);
            self.set_value(Bucket::Endpoints, key, value, revision, doing)
        })
        .await
    }

    /// Every endpoint in trouble, then every change.
    pub fn endpoint_changes(&self) -> Changes<EndpointEntry> {
        self.changes(Bucket::Endpoints, 0, endpoint_entry)
    }
}

/// What an endpoint is called in its bucket.
pub fn endpoint_key(org: OrgId, id: EndpointId) -> String {
    format!("{org}.{id}")
}

fn endpoint_entry(entry: &Entry) -> Option<EndpointEntry> {
    let mut key = entry.subject.rsplit('.');
    let (id, org) = (key.next()?.parse().ok()?, key.next()?.parse().ok()?);
    match read_endpoint(&entry.payload) {
        Ok(value) => Some(EndpointEntry {
            org,
            id,
            value,
            revision: entry.sequence,
        }),
        Err(error) => {
            tracing::error!(endpoint.id = %id, org.id = %org, %error, "skipped an unreadable endpoint");
            None
        }
    }
}

/// An endpoint's value as it is written: nothing, if it is well.
pub fn endpoint_value(endpoint: &Endpoint) -> String {
    if endpoint.is_plain() {
        String::new()
    } else {
        to_json(endpoint)
    }
}

/// An endpoint's value as written; `None` if it is well.
pub fn read_endpoint(json: &[u8]) -> Result<Option<Endpoint>, Error> {
    from_json("endpoint", json)
}
