//! The security log: tells the trail what happens to accounts. Each change is an audit event.

use domain::{
    OrgId, Timestamp,
    account::security_log::{What, event_tail},
    id::Tail,
};
use serde::Serialize;
use serde_json::{Map, Value};
use store::{Store, account_outbox::AccountChange};

use crate::{
    change_outbox::{self, Change},
    planes::ControlPlane,
};

/// How many changes of an organization are told at once; what one request makes, and what others make in the same
/// moment. The sweep sees to the rest.
const AT_ONCE_MAX: u32 = 10;

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
    /// Who was refused to log in is not known; the account is.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(flatten)]
    details: &'a Map<String, Value>,
}

/// Tells the trail what was just done in an organization, and by whoever else has not told it yet: an event that is
/// told twice is listed once.
pub async fn tell(plane: &ControlPlane, org: OrgId) {
    // One wait for all of them: one for each would keep a login waiting until its request runs out.
    let all = async {
        let changes = plane.store.unpublished_account_changes_of(org, AT_ONCE_MAX);
        for change in &changes.await? {
            change_outbox::record(plane, change).await?;
        }
        Ok::<(), change_outbox::Error>(())
    };
    change_outbox::at_once(AccountChange::OF, &org.to_string(), all).await;
}

impl Change for AccountChange {
    const OF: &'static str = "accounts";

    async fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Self>, store::Error> {
        store.unpublished_account_changes(made_before, limit).await
    }

    async fn note(&self, store: &Store) -> Result<(), store::Error> {
        store.account_change_published(self).await
    }

    fn whose(&self) -> (OrgId, Timestamp) {
        (self.org, self.at)
    }

    fn tail(&self) -> Tail {
        event_tail(self.org, self.id)
    }

    fn event(&self) -> impl Serialize + Send + Sync {
        ChangeEvent {
            event_type: self.what.event_type(),
            agent_id: &self.by,
            action: self.what.action(),
            result: self.what.result(),
            metadata: ChangeMetadata {
                by: (self.what != What::LoginRefused).then_some(self.by.as_str()),
                details: &self.details,
            },
        }
    }

    fn id(&self) -> String {
        format!("{} of {}", self.id, self.org)
    }
}
