//! Tells the trail who did what to the policies: each change is an audit event.

use domain::{
    OrgId, Timestamp,
    guard::Settings,
    id::Tail,
    policy_state::{EVENT_TYPE, event_tail},
};
use serde::Serialize;
use store::{Store, policies::change_outbox::PolicyChange};

use crate::change_outbox::Change;

/// The audit event that a change is.
#[derive(Serialize)]
struct ChangeEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    metadata: ChangeMetadata<'a>,
}

#[derive(Serialize)]
struct ChangeMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    /// Of an activation: the version that was active until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Settings>,
}

impl Change for PolicyChange {
    const OF: &'static str = "policies";

    async fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Self>, store::Error> {
        store.unpublished_policy_changes(made_before, limit).await
    }

    async fn note(&self, store: &Store) -> Result<(), store::Error> {
        store.policy_change_published(self).await
    }

    fn whose(&self) -> (OrgId, Timestamp) {
        (self.org, self.at)
    }

    fn tail(&self) -> Tail {
        event_tail(self.org, self.done.number)
    }

    fn event(&self) -> impl Serialize + Send + Sync {
        ChangeEvent {
            event_type: EVENT_TYPE,
            agent_id: &self.by,
            action: self.done.what.action(),
            result: "success",
            metadata: ChangeMetadata {
                version: self.done.version,
                digest: self.digest.as_deref(),
                instead_of: self.done.instead_of,
                settings: self.done.settings,
            },
        }
    }

    fn id(&self) -> String {
        format!("{} of {}", self.done.number, self.org)
    }
}
