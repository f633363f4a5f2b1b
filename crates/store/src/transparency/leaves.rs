//! What is committed to: the bytes of a row that its leaf is a salted hash of.

use domain::{EventId, OrgId, Timestamp};
use sqlx::types::time::OffsetDateTime;
use trail_proof::{
    attempt::{AttemptStatement, answer_sha256},
    leaf::{Commitment, Kind, LEAF_BYTES, Leaf, Salt},
};

use crate::{Error, Store, deliveries::Attempt, events::EventRow, times::from_database};

/// Leaves one after the other, as they are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaves(pub(super) Vec<u8>);

impl Leaves {
    pub fn push(&mut self, leaf: &[u8; LEAF_BYTES]) {
        self.0.extend_from_slice(leaf);
    }

    pub fn append(&mut self, more: &Self) {
        self.0.extend_from_slice(&more.0);
    }

    pub fn count(&self) -> usize {
        self.0.len() / LEAF_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8; LEAF_BYTES]> + ExactSizeIterator {
        let (leaves, _) = self.0.as_chunks::<LEAF_BYTES>();
        leaves.iter()
    }
}

impl<'l> FromIterator<&'l [u8; LEAF_BYTES]> for Leaves {
    fn from_iter<I: IntoIterator<Item = &'l [u8; LEAF_BYTES]>>(leaves: I) -> Self {
        let mut all = Self::default();
        for leaf in leaves {
            all.push(leaf);
        }
        all
    }
}

impl EventRow<'_> {
    pub(crate) fn leaf(&self) -> Leaf {
        event_leaf(self.id, self.received_at, self.salt, self.json)
    }
}

fn event_leaf(id: EventId, received_at: Timestamp, salt: Salt, json: &str) -> Leaf {
    Leaf {
        kind: Kind::Event,
        id: id.uuid().into_bytes(),
        occurred_ms: id.time().unix_millis(),
        received_ms: received_at.unix_millis(),
        commitment: Commitment::to(salt, json.as_bytes()),
    }
}

impl Store {
    /// An event's leaf and salt; the inner `None` if it was recorded before there was a log.
    pub async fn committed_event(
        &self,
        org: OrgId,
        id: EventId,
    ) -> Result<Option<Option<(Leaf, Salt)>>, Error> {
        let row: Option<(String, OffsetDateTime, Option<Vec<u8>>)> = sqlx::query_as(
            "SELECT body, received_at, salt FROM audit_events WHERE org_id = $1 AND id = $2",
        )
        .bind(org.uuid())
        .bind(id.uuid())
        .fetch_optional(&self.pool)
        .await?;
        let Some((json, received_at, salt)) = row else {
            return Ok(None);
        };
        let salt = salt.and_then(|salt| salt.try_into().ok()).map(Salt);
        let leaf = |salt| event_leaf(id, from_database(received_at), salt, &json);
        Ok(Some(salt.map(|salt| (leaf(salt), salt))))
    }
}

impl Attempt {
    /// `None` if it was recorded before there was a log.
    pub fn leaf(&self) -> Option<Leaf> {
        let salt: Salt = self.salt?;
        Some(Leaf {
            kind: Kind::Attempt,
            id: self.id.uuid().into_bytes(),
            occurred_ms: self.started_at.unix_millis(),
            received_ms: self.finished_at.unix_millis(),
            commitment: Commitment::to(salt, &self.statement()),
        })
    }

    /// The bytes that the leaf commits to.
    pub fn statement(&self) -> Vec<u8> {
        let statement = AttemptStatement {
            id: &self.id.to_string(),
            delivery_id: &self.delivery.to_string(),
            number: self.number,
            trigger: &self.trigger,
            started_at: &self.started_at.to_string(),
            finished_at: &self.finished_at.to_string(),
            signed_at: &self.signed_at.to_string(),
            url: &self.url,
            remote_address: self.remote_address.as_deref(),
            tls: self.tls.as_deref(),
            body_sha256: &self.body_sha256,
            body_bytes: self.body_bytes,
            secrets: &self.secrets,
            status: self.status,
            outcome: &self.outcome,
            answer_sha256: answer_sha256(&self.answer),
        };
        statement.bytes()
    }
}
