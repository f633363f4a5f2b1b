//! Tells the trail of decisions that were not obeyed, so that rules can watch for it.

use std::time::Duration;

use domain::{
    DecisionId, EventId, OrgId, Timestamp,
    approval::Status,
    disobeyed_decision::{DISOBEYED, EVENT_TYPE, VIOLATION, event_tail},
    id::Tail,
};
use serde::Serialize;
use store::{
    Store,
    disobeyed_decisions::{Finding, NotAllowed},
};

use crate::{
    approvals::history::is_approved,
    change_outbox::{self, Change},
    planes::ControlPlane,
};

/// The audit event that a finding is.
#[derive(Serialize)]
struct FindingEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    decision_id: DecisionId,
    metadata: FindingMetadata<'a>,
}

#[derive(Serialize)]
struct FindingMetadata<'a> {
    /// The event that says that it was done, and of what kind it is.
    event_id: EventId,
    event_type: &'a str,
    action: &'a str,
    decided: &'static str,
    decided_at: Timestamp,
}

impl Change for Finding {
    const OF: &'static str = "decisions that were not obeyed";

    /// Whoever finds it leaves the telling to the sweep.
    const LEFT_BEHIND_AFTER: Duration = Duration::ZERO;

    async fn unpublished(
        store: &Store,
        made_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<Self>, store::Error> {
        store.unpublished_findings(made_before, limit).await
    }

    /// A person may have approved. The journal knows first, and for as long as approvals are kept; the trail knows
    /// afterwards.
    async fn stands(&self, plane: &ControlPlane) -> Result<bool, change_outbox::Error> {
        if self.decided == NotAllowed::Denied {
            return Ok(true);
        }
        if let Some(entry) = plane.approvals.find(self.org, self.decision).await? {
            let status = entry.approval.status(plane.clock.now());
            return Ok(status != Status::Approved);
        }
        let end = plane.store.end_of_approval(self.org, self.decision).await?;
        Ok(!end.is_some_and(|event| is_approved(&event.json)))
    }

    async fn note(&self, store: &Store) -> Result<(), store::Error> {
        store.finding_published(self).await
    }

    fn whose(&self) -> (OrgId, Timestamp) {
        (self.org, self.received_at)
    }

    fn tail(&self) -> Tail {
        event_tail(self.event)
    }

    fn event(&self) -> impl Serialize + Send + Sync {
        let decision = EventId::from_uuid(self.decision.uuid());
        FindingEvent {
            event_type: EVENT_TYPE,
            agent_id: &self.agent_id,
            action: DISOBEYED,
            result: VIOLATION,
            severity: "critical",
            session_id: self.session_id.as_deref(),
            decision_id: self.decision,
            metadata: FindingMetadata {
                event_id: self.event,
                event_type: &self.event_type,
                action: &self.action,
                decided: self.decided.as_str(),
                decided_at: decision.time(),
            },
        }
    }

    fn id(&self) -> String {
        self.event.to_string()
    }
}
