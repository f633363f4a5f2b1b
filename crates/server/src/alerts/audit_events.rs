//! Tells the trail who changed which rule: each version is an audit event.

use domain::{
    OrgId, RuleId, Timestamp,
    id::Tail,
    rule::change::{EVENT_TYPE, event_tail},
};
use serde::Serialize;
use store::{Store, rules::versions::RuleChange};

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
    rule_id: RuleId,
    name: &'a str,
    version: u32,
    changed: &'a [String],
}

impl Change for RuleChange {
    const OF: &'static str = "rules";

    async fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Self>, store::Error> {
        store.unrecorded_rule_versions(made_before, limit).await
    }

    async fn note(&self, store: &Store) -> Result<(), store::Error> {
        store.rule_version_recorded(self).await
    }

    fn whose(&self) -> (OrgId, Timestamp) {
        (self.org, self.at)
    }

    fn tail(&self) -> Tail {
        event_tail(self.rule, self.version)
    }

    fn event(&self) -> impl Serialize + Send + Sync {
        ChangeEvent {
            event_type: EVENT_TYPE,
            agent_id: &self.by,
            action: self.what.action(),
            result: "success",
            metadata: ChangeMetadata {
                rule_id: self.rule,
                name: &self.name,
                version: self.version,
                changed: &self.changed,
            },
        }
    }

    fn id(&self) -> String {
        self.rule.to_string()
    }
}
