//! Tells the trail who staged, promoted or dropped which signing secret: each change is an audit event.

use domain::{
    OrgId, SecretId, Timestamp,
    id::Tail,
    secret::{EVENT_TYPE, event_tail},
};
use serde::Serialize;
use store::{Store, signing_secrets::SecretChange};

use crate::change_outbox::Change;

/// The audit event that a change is.
#[derive(Serialize)]
struct ChangeEvent {
    event_type: &'static str,
    agent_id: String,
    action: &'static str,
    result: &'static str,
    metadata: ChangeMetadata,
}

#[derive(Serialize)]
struct ChangeMetadata {
    secret_id: SecretId,
    /// Of a promotion: until when the secret before signs beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap_ends_at: Option<Timestamp>,
}

impl Change for SecretChange {
    const OF: &'static str = "signing secrets";

    async fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Self>, store::Error> {
        store.unpublished_secret_changes(made_before, limit).await
    }

    async fn note(&self, store: &Store) -> Result<(), store::Error> {
        store.secret_change_published(self).await
    }

    fn whose(&self) -> (OrgId, Timestamp) {
        (self.org, self.at)
    }

    fn tail(&self) -> Tail {
        event_tail(self.secret, self.what)
    }

    fn event(&self) -> impl Serialize + Send + Sync {
        ChangeEvent {
            event_type: EVENT_TYPE,
            agent_id: self.by.to_string(),
            action: self.what.action(),
            result: "success",
            metadata: ChangeMetadata {
                secret_id: self.secret,
                overlap_ends_at: self.until,
            },
        }
    }

    fn id(&self) -> String {
        self.secret.to_string()
    }
}
